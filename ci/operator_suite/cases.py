"""The operators that PyTorch has samples of, and calls of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any
from unittest.mock import patch

import torch
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

# PyTorch's own tests forbid the rest of the process to set flags such as that of TF32.
with patch.object(torch.backends, "disable_global_flags", lambda: None):
    from torch.testing._internal import common_methods_invocations as invocations

SAMPLES = 3
"""How many calls are tried in each type."""
TYPES = (torch.float32, torch.float16)
OTHERWISE = (torch.int64, torch.bool, torch.complex64)
"""The types of operators that take no floats; the first that fits is tried."""


def unseeded(operator: Any, *args: Any, **named: Any) -> Any:
    """A call of an operator of random numbers, as users call it."""
    return operator(*args, **named)


# PyTorch's own tests set the seed around these calls, which torch.compile cannot capture.
invocations.wrapper_set_seed = unseeded


@dataclass(frozen=True)
class Sample:
    """One call of an operator: `leaves` are its arguments, flat."""

    operator: Any
    leaves: tuple[Any, ...]
    spec: TreeSpec

    def tensors(self) -> list[torch.Tensor]:
        """Copies of the arguments that are tensors, in order, for a call that may write to them."""
        return [each.clone() for each in self.leaves if isinstance(each, torch.Tensor)]

    def __call__(self, tensors: list[torch.Tensor]) -> Any:
        """What the operator gives for these tensors in the place of its own."""
        left = iter(tensors)
        leaves = [next(left) if isinstance(e, torch.Tensor) else e for e in self.leaves]
        first, args, kwargs = tree_unflatten(leaves, self.spec)
        return self.operator(first, *args, **kwargs)


@cache
def operators() -> dict[str, Any]:
    """All of them by name; those in variants have the variant behind a dot."""
    return {".".join(filter(None, (op.name, op.variant_test_name))): op for op in invocations.op_db}


def types(operator: Any) -> list[torch.dtype]:
    """The element types that are tried."""
    found = [each for each in TYPES if each in operator.dtypes]
    return found or [each for each in OTHERWISE if each in operator.dtypes][:1]


def samples(operator: Any, dtype: torch.dtype) -> list[Sample]:
    """The first calls that PyTorch itself can run, the same each time."""
    torch.manual_seed(0)
    return list(islice(runnable(operator, dtype), SAMPLES))


def runnable(operator: Any, dtype: torch.dtype) -> Iterator[Sample]:
    """The calls among PyTorch's samples that do not fail on a CPU."""
    for each in operator.sample_inputs("cpu", dtype, requires_grad=False):
        leaves, spec = tree_flatten((each.input, each.args, each.kwargs))
        sample = Sample(operator.op, tuple(leaves), spec)
        try:
            sample(sample.tensors())
        except (RuntimeError, NotImplementedError):
            continue
        yield sample
