"""Ensembles of decision trees as products of matrices: all tests at once, then who passed them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from hidet.errors import BadArgument, DtypeMismatch, NotYet
from hidet.graph import Tensor, from_numpy
from hidet.ops.binary import logical_and, logical_or
from hidet.ops.cast import cast
from hidet.ops.compare import equal, greater, greater_equal, less, less_equal, not_equal
from hidet.ops.index import index_select
from hidet.ops.matmul import matmul
from hidet.ops.reduce import max as greatest
from hidet.ops.reduce import min as least
from hidet.ops.reduce import sum as total
from hidet.ops.select import where
from hidet.ops.shape import permute, reshape
from hidet.ops.unary import isnan
from hidet.types import boolean, f32, f64, i32

Array = np.ndarray[Any, Any]
Aggregate = Literal["sum", "average", "min", "max"]
TESTS = ("<=", "<", ">=", ">", "==", "!=")
COMPARE = (less_equal, less, greater_equal, greater, equal, not_equal)
LARGEST = 2**26
"""How many elements the table of paths may have."""


@dataclass(frozen=True)
class Trees:
    """The nodes of all trees in one row; a leaf is a node that both of its branches lead back to.

    A node reads element `feature` of a row, compares it with `split` by the test number `test` of
    `TESTS`, and goes on at node `yes` or `no`; a NaN goes to `yes` where `missing` says so.
    `values[node, target]` is what a leaf gives, NaN where it gives nothing to a target.
    """

    feature: Array
    split: Array
    test: Array
    yes: Array
    no: Array
    missing: Array
    roots: Array
    values: Array

    def check(self) -> None:
        """Raise BadArgument where nodes, tests or branches do not fit each other."""
        count = len(self.feature)
        rows = (self.split, self.test, self.yes, self.no, self.missing, self.values)
        if any(len(each) != count for each in rows):
            raise BadArgument("the rows of a tree ensemble have different lengths")
        for each in (self.yes, self.no, self.roots):
            if len(each) == 0 or not (each.min() >= 0 and each.max() < count):
                raise BadArgument(f"a branch of a tree leads outside of its {count} nodes")
        if not (self.test.min() >= 0 and self.test.max() < len(TESTS)):
            raise BadArgument("a decision tree has a test that there is not")


@dataclass
class Paths:
    """The inner nodes of a tree, and its leaves with the branches (row, 1 or -1) to them."""

    inner: list[int] = field(default_factory=list)
    leaves: list[tuple[int, tuple[tuple[int, int], ...]]] = field(default_factory=list)


def paths(trees: Trees, root: int) -> Paths:
    """All paths of one tree; BadArgument if branches go round or meet too often."""
    found, pending = Paths(), [(int(root), ())]
    while pending:
        node, path = pending.pop()
        yes, no = int(trees.yes[node]), int(trees.no[node])
        if yes == no == node:
            found.leaves.append((node, path))
            continue
        row = len(found.inner)
        if row > len(trees.feature):
            raise BadArgument("the branches of a decision tree go round, or meet again")
        found.inner.append(node)
        pending += [(no, (*path, (row, -1))), (yes, (*path, (row, 1)))]  # type: ignore[list-item]
    return found


def tree_ensemble(x: Tensor, trees: Trees, aggregate: Aggregate = "sum") -> Tensor:
    """[n, targets]: the leaves' values of all trees for each row of x[n, features], put together.

    "average" is over all trees. A target to which no leaf gives anything is 0 in a sum, the
    greatest number in a minimum, the least in a maximum. The type is that of `x`, a float. Raises
    BadArgument, DtypeMismatch, or NotYet for trees so large that their paths make no table.
    Source: ONNX TreeEnsemble-5; the way by products is that of Nakandala et al. 2020 (Hummingbird).
    """
    trees.check()
    if not x.dtype.is_float:
        raise DtypeMismatch(f"a tree ensemble does not take {x.dtype.name}")
    if aggregate not in ("sum", "average", "min", "max"):
        raise BadArgument(f"there is no aggregate {aggregate!r}")
    every = [paths(trees, root) for root in trees.roots]
    rows = max(1, *(len(each.inner) for each in every))
    columns = max(len(each.leaves) for each in every)
    if len(every) * rows * columns > LARGEST:
        raise NotYet(f"{len(every)} trees of up to {rows} tests and {columns} leaves")
    wide = x.dtype if x.dtype is f64 else f32
    nodes = np.zeros((len(every), rows), np.int64)
    for number, each in enumerate(every):
        nodes[number, : len(each.inner)] = each.inner
    passed = cast(tested(cast(x, wide), trees, nodes.ravel()), wide)
    passed = permute(reshape(passed, (x.shape[0], len(every), rows)), (1, 0, 2))
    table, wanted, values = tables(trees, every, (rows, columns), aggregate, wide.numpy)
    reached = equal(matmul(passed, constant(table, x)), constant(wanted, x))
    given = matmul(cast(reached, wide), constant(values, x))
    if aggregate in ("min", "max"):
        return cast((least if aggregate == "min" else greatest)(given, 0), x.dtype)
    sums = total(given, 0)
    return cast(sums * (1 / len(every)) if aggregate == "average" else sums, x.dtype)


def tested(x: Tensor, trees: Trees, nodes: Array) -> Tensor:
    """[n, nodes]: whether each row goes to `yes` at each of the nodes."""
    value = index_select(x, 1, constant(trees.feature[nodes].astype(i32.numpy), x))
    split = constant(trees.split[nodes].astype(x.dtype.numpy), x)
    kinds = sorted({int(each) for each in trees.test[nodes]})
    holds = COMPARE[kinds[0]](value, split)
    for kind in kinds[1:]:
        here = constant(trees.test[nodes] == kind, x)
        holds = where(here, COMPARE[kind](value, split), holds)
    gap, missing = isnan(value), constant(trees.missing[nodes].astype(boolean.numpy), x)
    return logical_or(logical_and(gap, missing), logical_and(~gap, holds))


def tables(
    trees: Trees, every: list[Paths], size: tuple[int, int], aggregate: Aggregate, of: Any
) -> tuple[Array, Array, Array]:
    """For each tree: a leaf's branches [tests, leaves], how many of them are `yes`, its values.

    A row's tests (1 or 0) times the branches are as many as those only where all are passed.
    """
    limits = np.finfo(of)
    nothing = {"min": limits.max, "max": limits.min}.get(aggregate, 0.0)
    given = np.where(np.isnan(trees.values), nothing, trees.values)
    branches = np.zeros((len(every), *size), of)
    wanted = np.full((len(every), 1, size[1]), -1, of)
    values = np.zeros((len(every), size[1], given.shape[1]), of)
    for number, each in enumerate(every):
        for column, (leaf, path) in enumerate(each.leaves):
            for row, way in path:
                branches[number, row, column] = way
            wanted[number, 0, column] = sum(way > 0 for _, way in path)
            values[number, column] = given[leaf]
    return branches, wanted, values


def constant(values: Array, beside: Tensor) -> Tensor:
    """An array as a tensor on the device of another."""
    found = from_numpy(np.ascontiguousarray(values))
    return found if beside.device == "cpu" else found.to(beside.device)
