"""Ensembles of random trees against a walk in Python, and trees that are none."""

from dataclasses import replace

import numpy as np
import pytest

from hidet import ops
from hidet.errors import BadArgument, DtypeMismatch
from hidet.graph import from_numpy, symbol, trace_from, tracing
from hidet.ops.models.tree_ensemble import TESTS, Trees

HOLDS = {
    "<=": np.less_equal, "<": np.less, ">=": np.greater_equal, ">": np.greater,
    "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


def grown(seed, trees=5, features=4, targets=3, has_sets=False):
    """Trees of random depth; some leaves give nothing to some targets."""
    random = np.random.default_rng(seed)
    rows, roots = [], []

    def grow(depth):
        number = len(rows)
        rows.append(None)
        if depth == 0 or random.random() < 0.2:
            values = random.normal(size=targets)
            values[random.random(targets) < 0.4] = np.nan
            rows[number] = (0, 0.0, 0, number, number, False, values)
        else:
            split = np.round(random.normal(), 1)
            test = random.integers(len(HOLDS) + has_sets)
            inner = (random.integers(features), split, test)
            missing = random.random() < 0.5
            rows[number] = (*inner, grow(depth - 1), grow(depth - 1), missing, [np.nan] * targets)
        return number

    for depth in range(trees):
        roots.append(grow(depth))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    members = np.round(random.normal(size=(len(rows), 9)), 1) if has_sets else None
    return Trees(*columns[:6], np.array(roots), columns[6], members)


def walked(trees, row):
    """The values of the leaf that a row reaches in each tree."""
    for node in trees.roots:
        while trees.yes[node] != node:
            value = row[trees.feature[node]]
            test = TESTS[trees.test[node]]
            if test == "in":
                holds = value in trees.members[node].astype(np.float32)
            else:
                holds = HOLDS[test](value, np.float32(trees.split[node]))
            chosen = trees.missing[node] if np.isnan(value) else holds
            node = trees.yes[node] if chosen else trees.no[node]
        yield trees.values[node]


def compiled(trees, x, aggregate="sum"):
    rows = symbol(x.shape)
    with tracing():
        graph = trace_from(ops.tree_ensemble(rows, trees, aggregate), [rows])
    return graph(from_numpy(x)).numpy()


@pytest.mark.parametrize("aggregate", ["sum", "average", "min", "max"])
@pytest.mark.parametrize(("count", "has_sets"), [(3, False), (3, True), (5, True), (6, False)])
def test_random_trees(count, has_sets, aggregate):
    """Up to three trees are so small that products compute them."""
    seed = count
    trees = grown(seed, count, has_sets=has_sets)
    random = np.random.default_rng(seed)
    x = np.round(random.normal(size=(17, 4)), 1).astype(np.float32)
    x.flat[::7] = np.nan
    leaves = np.array([list(walked(trees, row)) for row in x])
    limits = np.finfo(np.float32)
    wanted = {
        "sum": np.nan_to_num(leaves).sum(1),
        "average": np.nan_to_num(leaves).sum(1) / count,
        "min": np.where(np.isnan(leaves), limits.max, leaves).min(1),
        "max": np.where(np.isnan(leaves), limits.min, leaves).max(1),
    }[aggregate]
    found = compiled(trees, x, aggregate)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_compiled_for_any_number_of_rows():
    trees, x = grown(1), symbol(["n", 4])
    with tracing():
        graph = trace_from(ops.tree_ensemble(x, trees), [x])
    for rows in (1, 7):
        value = np.random.default_rng(rows).normal(size=(rows, 4)).astype(np.float32)
        wanted = [np.nansum(list(walked(trees, row)), 0) for row in value]
        found = graph(from_numpy(value)).numpy()
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_trees_that_are_none():
    trees, x = grown(0), symbol([2, 4])
    with pytest.raises(BadArgument, match="leads outside"):
        ops.tree_ensemble(x, replace(trees, roots=np.array([99_999])))
    round_ = np.zeros_like(trees.yes) + len(trees.yes) - 1
    ahead = np.zeros_like(trees.yes)
    with pytest.raises(BadArgument, match="go round"):
        ops.tree_ensemble(x, replace(trees, yes=round_, no=ahead, roots=np.array([1])))
    with pytest.raises(BadArgument, match="different lengths"):
        ops.tree_ensemble(x, replace(trees, split=trees.split[1:]))
    with pytest.raises(BadArgument, match="aggregate"):
        ops.tree_ensemble(x, trees, "median")
    with pytest.raises(DtypeMismatch, match="int64"):
        ops.tree_ensemble(symbol([2, 4], "int64"), trees)
