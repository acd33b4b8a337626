"""Models that the compiler was not developed against, on a CPU, beside float64.

    python -m benchmarks.held_out [name ...]

A line for each: graphs of torch.compile, operators compiled and left to PyTorch, and errors
against the same weights in float64, of eager and of hidet by `torch.compile`. Ends with status 1
if a model fails, or is four times as far off as eager.
"""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

import hidet_torch
from benchmarks.coverage import spelled, summary
from benchmarks.held_out.models import CASES


def main(names: Sequence[str]) -> int:
    """Print a line for each of the models named, all of them by default."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    return int(not all([measured(name) for name in names or CASES]))


def measured(name: str) -> bool:
    """Print the line of a model; whether it is right."""
    torch.manual_seed(0)
    model, inputs = CASES[name].model().eval(), CASES[name].inputs(3)
    with torch.no_grad():
        wide = {key: value.double() if is_float(value) else value for key, value in inputs.items()}
        exact = results(copy.deepcopy(model).double(), wide)
        eager = error(results(model, inputs), exact)
        line = summary(name, hidet_torch.explain(model, **inputs))
        torch._dynamo.reset()
        hidet = error(results(torch.compile(model, backend="hidet"), inputs), exact)
    print(f"{spelled(line)}, error {hidet:.1e}, eager {eager:.1e}", flush=True)
    return hidet <= max(4 * eager, 1e-6)


def is_float(value: Any) -> bool:
    """Whether a value is a tensor of floats."""
    return isinstance(value, Tensor) and value.is_floating_point()


def results(model: nn.Module, inputs: dict[str, Any]) -> list[Tensor]:
    """The tensors that a model gives."""
    found = model(**inputs)
    found = found.to_tuple() if hasattr(found, "to_tuple") else found
    return [each for each in tree_leaves(found) if isinstance(each, Tensor)]


def error(found: Sequence[Tensor], exact: Sequence[Tensor]) -> float:
    """The largest |found - exact| / |exact| of results; infinite where integers differ."""
    return max(one_error(a, b) for a, b in zip(found, exact, strict=True))


def one_error(found: Tensor, exact: Tensor) -> float:
    """The same of one result."""
    if not is_float(found):
        return 0.0 if torch.equal(found, exact) else float("inf")
    away = (found.double() - exact.double()).norm() / exact.double().norm().clamp_min(1e-12)
    return float(away) if away.isfinite() else float("inf")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
