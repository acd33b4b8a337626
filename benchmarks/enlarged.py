"""PyTorch's samples of its operators, which are tiny, as calls on about a megabyte."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any
from unittest.mock import patch

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.opinfo import core, definitions
from torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves, tree_unflatten

from benchmarks.measure.beside import MOST_RESULTS, WANTED, distance
from ci.operator_suite.cases import invocations, types

LARGEST = 2**22
"""Elements of one tensor, beyond which a sample is not made."""
SAMPLES = 24
"""How many calls are looked at with each sizes."""
SIZES: tuple[Mapping[str, int], ...] = (
    {"L": 2**18, "M": 512, "S": 512, "XS": 8},
    {"L": 512, "M": 64, "S": 64, "XS": 16},
    {"L": 16, "M": 16, "S": 16, "XS": 8},
)
"""What stands for the sizes that PyTorch's samples are made of: of vectors and matrices, of tensors
of three axes, and of four or five."""


class TooLarge(RuntimeError):
    """A tensor that a sample asks for."""


@dataclass(frozen=True)
class Enlarged:
    """A call of an operator on tensors, with its other arguments."""

    operator: Any
    tensors: tuple[torch.Tensor, ...]
    leaves: tuple[Any, ...]
    """All arguments, flat; those that are tensors are numbers of `tensors` in `at`."""
    at: Mapping[int, int]
    spec: TreeSpec

    @property
    def nbytes(self) -> int:
        """What it reads."""
        return sum(each.nbytes for each in self.tensors)

    def copies(self) -> list[torch.Tensor]:
        """Its tensors, for a call that may write to them."""
        return [each.clone() for each in self.tensors]

    def bound(self, tensors: Sequence[torch.Tensor]) -> Callable[[], Any]:
        """The call on these tensors in the place of its own."""
        leaves = [tensors[self.at[n]] if n in self.at else e for n, e in enumerate(self.leaves)]
        first, args, kwargs = tree_unflatten(leaves, self.spec)
        return lambda: self.operator(first, *args, **kwargs)

    def __call__(self, tensors: Sequence[torch.Tensor]) -> Any:
        """What the operator gives for them."""
        return self.bound(tensors)()


def enlarged(operator: Any) -> Enlarged:
    """The call whose tensors are nearest to a megabyte; a small one is repeated along its first
    axis if the operator takes that. Raises ValueError if PyTorch runs none."""
    dtype = types(operator)[0]
    found = [call for sizes in SIZES for call in islice(samples(operator, dtype, sizes), SAMPLES)]
    found += [each for call in found if 0 < call.nbytes < WANTED / 4 for each in repeated(call)]
    for call in sorted(found, key=lambda each: distance(each.nbytes)):
        if runs(call):
            return call
    raise ValueError("no sample runs")


def samples(operator: Any, dtype: torch.dtype, sizes: Mapping[str, int]) -> Iterator[Enlarged]:
    """PyTorch's samples with other sizes, up to the first that is too large."""
    torch.manual_seed(0)
    with resized(sizes):
        try:
            for each in operator.sample_inputs("cpu", dtype, requires_grad=False):
                leaves, spec = tree_flatten((each.input, each.args, each.kwargs))
                places = [n for n, e in enumerate(leaves) if isinstance(e, torch.Tensor)]
                tensors = tuple(leaves[n] for n in places)
                at = {n: number for number, n in enumerate(places)}
                others = tuple(None if n in at else e for n, e in enumerate(leaves))
                yield Enlarged(operator.op, tensors, others, at, spec)
        except (RuntimeError, ValueError, IndexError, AssertionError):
            return  # samples of some operators are for small sizes alone


@contextmanager
def resized(sizes: Mapping[str, int]) -> Iterator[None]:
    """In this block PyTorch's samples have other sizes, and none that is too large."""
    modules = [invocations, core, *map(vars(definitions).get, ("fft", "linalg", "special"))]
    with ExitStack() as stack:
        for module in modules:
            own = {name: size for name, size in sizes.items() if hasattr(module, name)}
            stack.enter_context(patch.multiple(module, make_tensor=bounded, **own))
        yield


def bounded(*shape: Any, **named: Any) -> torch.Tensor:
    """PyTorch's `make_tensor`, but for large ones."""
    sizes = shape[0] if shape and isinstance(shape[0], Sequence) else named.get("shape", shape)
    if math.prod(sizes) > LARGEST:
        raise TooLarge(f"{sizes}")
    return torch.testing.make_tensor(*shape, **named)


def repeated(call: Enlarged) -> Iterator[Enlarged]:
    """The call with its first tensor, or all that are as long as that, repeated along an axis."""
    times = max(1, WANTED // call.nbytes)
    first = call.tensors[0]
    for axis in range(min(first.ndim, 2)):
        length = first.shape[axis]
        alike = [each.ndim > axis and each.shape[axis] == length for each in call.tensors]
        for which in (alike, [True, *[False] * (len(alike) - 1)]):
            longer = [
                along(each, axis, times) if is_one else each
                for each, is_one in zip(call.tensors, which, strict=True)
            ]
            yield Enlarged(call.operator, tuple(longer), call.leaves, call.at, call.spec)


def along(x: torch.Tensor, axis: int, times: int) -> torch.Tensor:
    """A tensor repeated along an axis."""
    return x.repeat([times if n == axis else 1 for n in range(x.ndim)])


def runs(call: Enlarged) -> bool:
    """Whether PyTorch runs it, and gives no more than some megabytes."""
    if gives_too_much(call):
        return False
    try:
        found = call(call.copies())
    except (RuntimeError, NotImplementedError, IndexError, ValueError, TypeError):
        return False
    return is_small(found)


def gives_too_much(call: Enlarged) -> bool:
    """Whether shapes alone tell that results are large, as of operands that broadcast."""
    with FakeTensorMode() as mode:
        try:
            return not is_small(call([mode.from_tensor(each) for each in call.tensors]))
        except Exception:  # what is asked of elements, or cannot run, shapes do not tell
            return False


def is_small(found: Any) -> bool:
    """Whether results take no more than some megabytes."""
    made = [each for each in tree_leaves(found) if isinstance(each, torch.Tensor)]
    return sum(each.nbytes for each in made) <= MOST_RESULTS * WANTED
