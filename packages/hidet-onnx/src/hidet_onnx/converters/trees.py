"""Ensembles of decision trees: all trees of all rows go down one level at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hidet import ops
from hidet.errors import BadArgument, NotYet
from hidet.graph import Tensor
from hidet.types import DType, boolean, f32, i64
from hidet_onnx.converters.known import constant
from hidet_onnx.converters.post_transform import binary_scores, transformed
from hidet_onnx.converters.table import ml

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ",
         "BRANCH_MEMBER", "LEAF")  # fmt: skip
LEAF, MEMBER = MODES.index("LEAF"), MODES.index("BRANCH_MEMBER")
COMPARISONS = (
    ops.less_equal, ops.less, ops.greater_equal, ops.greater, ops.equal, ops.not_equal,
)  # fmt: skip
"""By the numbers of modes."""
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Forest:
    """Nodes of all trees by number: a branch has a feature, a mode, a value and two next nodes.

    A leaf has itself for its next nodes. `weights` [node, target] are what leaves give, NaN where a
    leaf gives nothing for a target. `members` [node, n] are the sets of MEMBER branches.
    """

    roots: Array
    features: Array
    modes: Array
    values: Array
    true: Array
    false: Array
    missing: Array
    weights: Array
    members: Array | None = None

    def __post_init__(self) -> None:
        for name, limit in (("roots", len(self.modes)), ("true", len(self.modes))):
            given = getattr(self, name)
            if given.size and not 0 <= given.min() <= given.max() < limit:
                raise BadArgument(f"a tree ensemble names a node that is not there, in {name}")

    def depth(self) -> int:
        """How many branches the longest way from a root has; BadArgument if ways have no end."""
        front, depth = np.unique(self.roots), 0
        while front.size:
            branches = front[self.modes[front] != LEAF]
            front = np.unique(np.concatenate([self.true[branches], self.false[branches]]))
            depth += bool(branches.size)
            if depth > len(self.modes):
                raise BadArgument("the branches of a tree go round in a circle")
        return depth

    def leaves(self, x: Tensor) -> Tensor:
        """The leaf that each tree has for each row of x: [rows, trees]."""
        rows = x.shape[0]
        node = ops.expand(constant(self.roots, i64), (rows, len(self.roots)))
        feature, value = constant(self.features, i64), constant(self.values, x.dtype)
        true, false = constant(self.true, i64), constant(self.false, i64)
        for _ in range(self.depth()):
            found = ops.gather(x, 1, ops.take(feature, [node]))
            holds = self.holds(found, node, ops.take(value, [node]))
            node = ops.where(holds, ops.take(true, [node]), ops.take(false, [node]))
        return node

    def holds(self, found: Tensor, node: Tensor, value: Tensor) -> Tensor:
        """Whether the conditions of nodes hold for these elements."""
        used = sorted(set(self.modes.tolist()) - {LEAF}) or [0]
        results = [self.compared(mode, found, node, value) for mode in used]
        answer = results[0]
        if len(used) > 1:
            mode_of = ops.take(constant(self.modes, i64), [node])
            for mode, each in zip(used[1:], results[1:], strict=True):
                answer = ops.where(ops.equal(mode_of, mode), each, answer)
        if self.missing.any():
            tracks = ops.take(constant(self.missing, boolean), [node])
            answer = ops.logical_or(answer, ops.logical_and(tracks, ops.isnan(found)))
        return answer

    def compared(self, mode: int, found: Tensor, node: Tensor, value: Tensor) -> Tensor:
        """The condition of one mode."""
        if mode != MEMBER:
            return COMPARISONS[mode](found, value)
        sets = ops.take(constant(self.members, found.dtype), [node])
        return ops.any(ops.equal(ops.unsqueeze(found, -1), sets), -1)

    def totals(self, x: Tensor, how: str) -> Tensor:
        """What the leaves of all trees give for each row and target."""
        idle = {"MIN": np.inf, "MAX": -np.inf}.get(how, 0.0)
        table = np.where(np.isnan(self.weights), idle, self.weights)
        given = ops.take(constant(table, x.dtype), [self.leaves(x)])
        if how in ("MIN", "MAX"):
            return (ops.min if how == "MIN" else ops.max)(given, 1)
        total = ops.sum(given, 1)
        return ops.divide(total, float(len(self.roots))) if how == "AVERAGE" else total


def real(x: Tensor) -> Tensor:
    """Features as floats."""
    return x if x.dtype.is_float else ops.cast(x, f32)


@ml("TreeEnsemble", since=5)
def tree_ensemble(
    x: Tensor, *, tree_roots: Sequence[int], nodes_modes: Tensor, leaf_weights: Tensor,
    leaf_targetids: Sequence[int], nodes_falsenodeids: Sequence[int],
    nodes_trueleafs: Sequence[int], nodes_featureids: Sequence[int], nodes_splits: Tensor,
    nodes_falseleafs: Sequence[int], nodes_truenodeids: Sequence[int],
    aggregate_function: int = 1, post_transform: int = 0, n_targets: int | None = None,
    nodes_hitrates: Tensor | None = None,
    nodes_missing_value_tracks_true: Sequence[int] | None = None,
    membership_values: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The sums, means or extremes of what the leaves of all trees give for each target."""
    count, leaves = len(nodes_featureids), len(leaf_targetids)
    own = np.arange(count, count + leaves)
    modes = nodes_modes.numpy().astype(np.int64)

    def following(nodes: Sequence[int], are_leaves: Sequence[int]) -> Array:
        return np.concatenate([np.asarray(nodes) + count * np.asarray(are_leaves), own])

    def padded(values: Any, fill: float = 0) -> Array:
        return np.concatenate([np.asarray(values), np.full(leaves, fill)])

    targets = n_targets or max(leaf_targetids) + 1
    weights = np.full((count + leaves, targets), np.nan)
    weights[own, list(leaf_targetids)] = leaf_weights.numpy()
    members = None
    if membership_values is not None:
        members = member_sets(modes, membership_values.numpy(), count + leaves)
    forest = Forest(
        np.asarray(tree_roots), padded(nodes_featureids).astype(np.int64), padded(modes, LEAF),
        padded(nodes_splits.numpy()), following(nodes_truenodeids, nodes_trueleafs),
        following(nodes_falsenodeids, nodes_falseleafs),
        padded(nodes_missing_value_tracks_true or np.zeros(count)).astype(bool), weights, members,
    )  # fmt: skip
    found = forest.totals(real(x), AGGREGATES[aggregate_function])
    return transformed(
        found, ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")[post_transform]
    )


def member_sets(modes: Array, values: Array, count: int) -> Array:
    """For each node its set, filled up with NaN; sets come in the order of nodes, NaN between."""
    sets: list[list[float]] = [[]]
    for value in values:
        if np.isnan(value):
            sets.append([])
        else:
            sets[-1].append(float(value))
    table = np.full((count, max(map(len, sets)) or 1), np.nan)
    for node, each in zip(np.flatnonzero(modes == MEMBER), sets, strict=False):
        table[node, : len(each)] = each
    return table


def listed_forest(of: DType, targets: int, given: dict[str, Any], kind: str) -> Forest:
    """A forest of attributes as regressors and classifiers have them: nodes by tree and number."""
    keys = list(zip(given["nodes_treeids"], given["nodes_nodeids"], strict=True))
    number = {key: place for place, key in enumerate(keys)}
    if len(number) < len(keys):
        raise BadArgument("two nodes of a tree ensemble have the same number")
    modes = np.array([MODES.index(each) for each in given["nodes_modes"]])

    def following(name: str) -> Array:
        pairs = zip(modes, keys, given[name], strict=True)
        found = [
            place if mode == LEAF else number[tree, node]
            for place, (mode, (tree, _), node) in enumerate(pairs)
        ]
        return np.array(found)

    trees: dict[int, int] = {}
    for place, (tree, _) in enumerate(keys):
        trees.setdefault(tree, place)
    weights = np.full((len(keys), targets), np.nan)
    for tree, node, target, weight in zip(
        given[f"{kind}_treeids"], given[f"{kind}_nodeids"], given[f"{kind}_ids"],
        floats(given, f"{kind}_weights"), strict=True,
    ):  # fmt: skip
        place = number[tree, node]
        weights[place, target] = np.nan_to_num(weights[place, target]) + weight
    missing = given["nodes_missing_value_tracks_true"] or np.zeros(len(keys))
    return Forest(
        np.array(list(trees.values())), np.array(given["nodes_featureids"]), modes,
        np.array(floats(given, "nodes_values"), of.numpy), following("nodes_truenodeids"),
        following("nodes_falsenodeids"), np.asarray(missing).astype(bool), weights,
    )  # fmt: skip


def floats(given: dict[str, Any], name: str) -> Any:
    """Numbers that are an attribute, or a tensor."""
    tensor = given.get(f"{name}_as_tensor")
    return given[name] if tensor is None else tensor.numpy()


@ml("TreeEnsembleRegressor", since=1)
def tree_ensemble_regressor(
    x: Tensor, *, aggregate_function: str = "SUM", base_values: Sequence[float] | None = None,
    base_values_as_tensor: Tensor | None = None, n_targets: int | None = None,
    nodes_falsenodeids: Sequence[int] | None = None,
    nodes_featureids: Sequence[int] | None = None, nodes_hitrates: Sequence[float] | None = None,
    nodes_hitrates_as_tensor: Tensor | None = None,
    nodes_missing_value_tracks_true: Sequence[int] | None = None,
    nodes_modes: Sequence[str] | None = None, nodes_nodeids: Sequence[int] | None = None,
    nodes_treeids: Sequence[int] | None = None, nodes_truenodeids: Sequence[int] | None = None,
    nodes_values: Sequence[float] | None = None, nodes_values_as_tensor: Tensor | None = None,
    post_transform: str = "NONE", target_ids: Sequence[int] | None = None,
    target_nodeids: Sequence[int] | None = None, target_treeids: Sequence[int] | None = None,
    target_weights: Sequence[float] | None = None, target_weights_as_tensor: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """What the leaves of all trees give for each target, together."""
    given = dict(locals())
    wide = real(x)
    forest = listed_forest(wide.dtype, n_targets or 1, given, "target")
    found = with_base(forest.totals(wide, aggregate_function), given)
    return transformed(ops.cast(found, f32), post_transform)


def with_base(found: Tensor, given: dict[str, Any]) -> Tensor:
    """Scores above the values that targets have without trees."""
    base = floats(given, "base_values")
    return found if base is None else ops.add(found, constant(base, found.dtype))


@ml("TreeEnsembleClassifier", since=1)
def tree_ensemble_classifier(
    x: Tensor, *, base_values: Sequence[float] | None = None,
    base_values_as_tensor: Tensor | None = None, class_ids: Sequence[int] | None = None,
    class_nodeids: Sequence[int] | None = None, class_treeids: Sequence[int] | None = None,
    class_weights: Sequence[float] | None = None, class_weights_as_tensor: Tensor | None = None,
    classlabels_int64s: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None,
    nodes_falsenodeids: Sequence[int] | None = None,
    nodes_featureids: Sequence[int] | None = None, nodes_hitrates: Sequence[float] | None = None,
    nodes_hitrates_as_tensor: Tensor | None = None,
    nodes_missing_value_tracks_true: Sequence[int] | None = None,
    nodes_modes: Sequence[str] | None = None, nodes_nodeids: Sequence[int] | None = None,
    nodes_treeids: Sequence[int] | None = None, nodes_truenodeids: Sequence[int] | None = None,
    nodes_values: Sequence[float] | None = None, nodes_values_as_tensor: Tensor | None = None,
    post_transform: str = "NONE",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The label of each row, and its scores by class."""
    given = dict(locals())
    if not classlabels_int64s or not class_ids:
        raise NotYet("labels that are strings, or none")
    wide = real(x)
    classes = len(classlabels_int64s)
    forest = listed_forest(wide.dtype, classes, given, "class")
    scores = ops.cast(with_base(forest.totals(wide, "SUM"), given), f32)
    if len(set(class_ids)) == 1 and classes == 2:
        scores = binary_scores(ops.slice(scores, 1, class_ids[0], class_ids[0] + 1), post_transform)
    scores = transformed(scores, post_transform)
    label = ops.take(constant(classlabels_int64s, i64), [ops.argmax(scores, 1)])
    return label, scores
