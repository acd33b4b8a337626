"""Which ATen operators of many architectures are compiled, and which are left to PyTorch.

    python -m benchmarks.coverage [name ...]

Small models of random weights stand for the architectures: operators do not depend on sizes. The
first table has a line for each model, the second one for each operator that any model leaves to
PyTorch, most frequent first. Ends with status 1 if a model cannot be traced.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

import hidet_torch
from benchmarks.architectures import ARCHITECTURES
from hidet_torch.reports.explaining import Explanation


@dataclass
class Line:
    """What one model asks for: uses compiled and left, the reasons why, or why it failed."""

    name: str
    compiled: int = 0
    graphs: int = 0
    left: Counter[tuple[str, str]] = field(default_factory=Counter)
    failure: str = ""


def main(names: Sequence[str]) -> int:
    """Print both tables for the architectures named, all of them by default."""
    warnings.filterwarnings("ignore")
    lines = []
    for name in names or ARCHITECTURES:
        lines.append(surveyed(name))
        print(spelled(lines[-1]), flush=True)
    print(f"\n{operators(lines)}")
    return min(sum(bool(line.failure) for line in lines), 1)


def surveyed(name: str) -> Line:
    """One architecture."""
    torch.manual_seed(0)
    try:
        model, inputs = ARCHITECTURES[name]()
        return summary(name, hidet_torch.explain(model.eval(), **inputs))
    except Exception as error:  # whatever a model may raise is what the table is to show
        reason = next(iter(str(error).splitlines()), "")
        return Line(name, failure=f"{type(error).__name__}: {reason}"[:120])


def summary(name: str, found: Explanation) -> Line:
    """The line of a model that was traced."""
    coverage = found.coverage
    left = Counter((use.operator, use.reason) for uses in coverage.left.values() for use in uses)
    return Line(name, coverage.compiled.total(), found.graphs, left)


def spelled(line: Line) -> str:
    """A line of the first table."""
    if line.failure:
        return f"{line.name:<24} failed: {line.failure}"
    rest = f"{line.left.total():>4} left" if line.left else "complete "
    return f"{line.name:<24} {line.compiled:>5} compiled {rest} in {line.graphs} graph(s)"


def operators(lines: Sequence[Line]) -> str:
    """The second table: operators left to PyTorch, by the number of models that leave them."""
    uses: Counter[tuple[str, str]] = Counter()
    models: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        uses += line.left
        for each in line.left:
            models.setdefault(each, []).append(line.name)
    ranked = sorted(models, key=lambda each: (-len(models[each]), -uses[each], each))
    rows = [
        f"{operator:<44} {uses[operator, why]:>5} uses in {len(models[operator, why]):>2} models "
        f"({', '.join(models[operator, why][:4])}): {why}"
        for operator, why in ranked
    ]
    traced = [line for line in lines if not line.failure]
    whole = sum(not line.left for line in traced)
    return "\n".join([*rows, f"{whole} of {len(traced)} models are compiled completely"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
