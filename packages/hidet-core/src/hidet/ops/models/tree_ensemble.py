"""Ensembles of decision trees: small ones as matmuls, others by walking down the trees."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from hidet.errors import BadArgument, DtypeMismatch
from hidet.graph import Tensor, from_numpy
from hidet.ops.elementwise.binary import logical_and, logical_or
from hidet.ops.elementwise.compare import equal, greater, greater_equal, less, less_equal, not_equal
from hidet.ops.elementwise.select import where
from hidet.ops.elementwise.unary import isnan
from hidet.ops.flow.loops import loop
from hidet.ops.indexing.index import gather, index_select, take
from hidet.ops.products.matmul import matmul
from hidet.ops.reductions.reduce import any as some
from hidet.ops.reductions.reduce import max as greatest
from hidet.ops.reductions.reduce import min as least
from hidet.ops.reductions.reduce import sum as total
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.shape import expand, permute, reshape, unsqueeze
from hidet.types import boolean, f32, f64, i64

Array = np.ndarray[Any, Any]
Aggregate = Literal["sum", "average", "min", "max"]
TESTS = ("<=", "<", ">=", ">", "==", "!=", "in")
COMPARE = (less_equal, less, greater_equal, greater, equal, not_equal)
MEMBER = TESTS.index("in")
SMALL = 64
"""How many entries the table of a tree's paths has at most for products to be faster: tests times
leaves, about those of three levels (Nakandala et al. 2020)."""


@dataclass(frozen=True)
class Trees:
    """The nodes of all trees in one row; a leaf is a node that both of its branches lead back to.

    A node reads element `feature` of a row, compares it with `split` by the test number `test` of
    `TESTS`, and goes on at node `yes` or `no`; a NaN goes to `yes` where `missing` says so.
    `values[node, target]` is what a leaf gives, NaN where it gives nothing to a target.
    `members[node, :]` are the numbers of the test "in", filled up with NaN.
    """

    feature: Array
    split: Array
    test: Array
    yes: Array
    no: Array
    missing: Array
    roots: Array
    values: Array
    members: Array | None = None

    def check(self) -> None:
        """Raise BadArgument where nodes, tests or branches do not fit each other."""
        count = len(self.feature)
        rows = [self.split, self.test, self.yes, self.no, self.missing, self.values]
        rows += [] if self.members is None else [self.members]
        if any(len(each) != count for each in rows):
            raise BadArgument("the rows of a tree ensemble have different lengths")
        for each in (self.yes, self.no, self.roots):
            if len(each) == 0 or not (each.min() >= 0 and each.max() < count):
                raise BadArgument(f"a branch of a tree leads outside of its {count} nodes")
        known = len(TESTS) if self.members is not None else MEMBER
        if not (self.test.min() >= 0 and self.test.max() < known):
            raise BadArgument("a decision tree has a test that there is not")


@dataclass
class Paths:
    """The inner nodes of a tree, and its leaves with the branches (row, 1 or -1) to them."""

    inner: list[int] = field(default_factory=list)
    leaves: list[tuple[int, tuple[tuple[int, int], ...]]] = field(default_factory=list)

    @property
    def depth(self) -> int:
        """How many branches the longest path has."""
        return max(len(path) for _, path in self.leaves)


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
    BadArgument or DtypeMismatch.
    Source: ONNX TreeEnsemble-5; the way by products is that of Nakandala et al. 2020 (Hummingbird).
    """
    trees.check()
    if not x.dtype.is_float:
        raise DtypeMismatch(f"a tree ensemble does not take {x.dtype.name}")
    if aggregate not in ("sum", "average", "min", "max"):
        raise BadArgument(f"there is no aggregate {aggregate!r}")
    columns = x.shape[-1]
    if isinstance(columns, int) and not 0 <= trees.feature.min() <= trees.feature.max() < columns:
        raise BadArgument(f"a decision tree reads a feature that rows of {columns} do not have")
    wide = cast(x, x.dtype if x.dtype is f64 else f32)
    every = [paths(trees, root) for root in trees.roots]
    size = max(len(each.inner) for each in every), max(len(each.leaves) for each in every)
    way = by_products if size[0] * size[1] <= SMALL else by_walking
    given = way(wide, trees, every, filled(trees, aggregate, wide.dtype.numpy))
    if aggregate in ("min", "max"):
        return cast((least if aggregate == "min" else greatest)(given, 0), x.dtype)
    sums = total(given, 0)
    return cast(sums * (1 / len(every)) if aggregate == "average" else sums, x.dtype)


def filled(trees: Trees, aggregate: Aggregate, of: Any) -> Array:
    """The leaves' values [node, target], with what changes no aggregate where there is none."""
    limits = np.finfo(of)
    nothing = {"min": limits.max, "max": limits.min}.get(aggregate, 0.0)
    found: Array = np.where(np.isnan(trees.values), nothing, trees.values).astype(of)
    return found


# ---- all tests at once, then who passed them -----------------------------------------------------


def by_products(x: Tensor, trees: Trees, every: list[Paths], values: Array) -> Tensor:
    """[tree, n, target]: what each tree gives, where a row's tests (1 or 0) times the branches to
    a leaf (1 or -1) are as many as those that are `yes` only if all are passed."""
    rows = max(1, *(len(each.inner) for each in every))
    nodes = np.zeros((len(every), rows), np.int64)
    for number, each in enumerate(every):
        nodes[number, : len(each.inner)] = each.inner
    passed = cast(tested(x, trees, nodes.ravel()), x.dtype)
    passed = permute(reshape(passed, (x.shape[0], len(every), rows)), (1, 0, 2))
    branches, wanted, given = tables(every, rows, values)
    reached = equal(matmul(passed, constant(branches, x)), constant(wanted, x))
    return matmul(cast(reached, x.dtype), constant(given, x))


def tested(x: Tensor, trees: Trees, nodes: Array) -> Tensor:
    """[n, nodes]: whether each row goes to `yes` at each of the nodes."""
    value = index_select(x, 1, constant(trees.feature[nodes].astype(np.int64), x))
    split = constant(trees.split[nodes].astype(x.dtype.numpy), x)
    kinds = {int(each): constant(trees.test[nodes] == each, x) for each in trees.test[nodes]}
    members = None
    if trees.members is not None and MEMBER in kinds:
        members = constant(trees.members[nodes].astype(x.dtype.numpy), x)
    missing = constant(trees.missing[nodes].astype(boolean.numpy), x)
    return goes_on(value, split, kinds, members, missing)


def goes_on(
    value: Tensor, split: Tensor, kinds: dict[int, Tensor], members: Tensor | None, missing: Tensor
) -> Tensor:
    """Whether tests are passed; `kinds` says of each kind of test which are of it."""

    def compared(kind: int) -> Tensor:
        if members is not None and kind == MEMBER:
            return some(equal(unsqueeze(value, -1), members), -1)
        return COMPARE[kind](value, split)

    first, *others = sorted(kinds)
    holds = compared(first)
    for kind in others:
        holds = where(kinds[kind], compared(kind), holds)
    gap = isnan(value)
    return logical_or(logical_and(gap, missing), logical_and(~gap, holds))


def tables(every: list[Paths], rows: int, values: Array) -> tuple[Array, Array, Array]:
    """For each tree: a leaf's branches [tests, leaves], how many of them are `yes`, its values."""
    size, of = (rows, max(len(each.leaves) for each in every)), values.dtype
    branches = np.zeros((len(every), *size), of)
    wanted = np.full((len(every), 1, size[1]), -1, of)
    given = np.zeros((len(every), size[1], values.shape[1]), of)
    for number, each in enumerate(every):
        for column, (leaf, path) in enumerate(each.leaves):
            for row, way in path:
                branches[number, row, column] = way
            wanted[number, 0, column] = sum(way > 0 for _, way in path)
            given[number, column] = values[leaf]
    return branches, wanted, given


# ---- one level of all trees in each iteration of a loop
# -----------------------------------------------


def by_walking(x: Tensor, trees: Trees, every: list[Paths], values: Array) -> Tensor:
    """[tree, n, target]: what each tree gives, whose leaf rows reach one branch at a time."""
    feature, yes, no = (
        constant(t.astype(np.int64), x) for t in (trees.feature, trees.yes, trees.no)
    )
    split = constant(trees.split.astype(x.dtype.numpy), x)
    test = constant(trees.test.astype(np.int64), x)
    missing = constant(trees.missing.astype(boolean.numpy), x)
    sets = None if trees.members is None else constant(trees.members.astype(x.dtype.numpy), x)

    def iteration(_: Tensor, node: Tensor) -> tuple[None, list[Tensor], tuple[()]]:
        kind = take(test, (node,))
        holds = goes_on(
            gather(x, 1, take(feature, (node,))),
            take(split, (node,)),
            {int(each): equal(kind, int(each)) for each in np.unique(trees.test)},
            None if sets is None else take(sets, (node,)),
            take(missing, (node,)),
        )
        return None, [where(holds, take(yes, (node,)), take(no, (node,)))], ()

    roots = expand(constant(trees.roots.astype(i64.numpy), x), (x.shape[0], len(every)))
    ((leaf,), _, _) = loop(iteration, [roots], trips=max(each.depth for each in every))
    return permute(take(constant(values, x), (leaf,)), (1, 0, 2))


def constant(values: Array, beside: Tensor) -> Tensor:
    """An array as a tensor on the device of another."""
    found = from_numpy(np.ascontiguousarray(values))
    return found if beside.device == "cpu" else found.to(beside.device)
