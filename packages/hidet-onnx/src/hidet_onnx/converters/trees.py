"""Ensembles of decision trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

from hidet import ops
from hidet.errors import BadArgument, NotYet
from hidet.frontend.running.host_values import HostValue
from hidet.graph import Tensor
from hidet.ops.models.tree_ensemble import Trees
from hidet.types import f32, i64
from hidet_onnx.converters.known import constant
from hidet_onnx.converters.labels import labelled
from hidet_onnx.converters.post_transform import KINDS, binary_scores, transformed
from hidet_onnx.converters.table import ml

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ",
         "BRANCH_MEMBER", "LEAF")  # fmt: skip
"""In the order of core's tests, and a leaf, which makes none."""
LEAF, MEMBER = MODES.index("LEAF"), MODES.index("BRANCH_MEMBER")
Aggregate = Literal["average", "sum", "min", "max"]
AGGREGATES: tuple[Aggregate, ...] = get_args(Aggregate)
Array = np.ndarray[Any, Any]


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
    trees = Trees(
        padded(nodes_featureids).astype(np.int64), padded(nodes_splits.numpy()),
        padded(modes).astype(np.int64), following(nodes_truenodeids, nodes_trueleafs),
        following(nodes_falsenodeids, nodes_falseleafs),
        padded(nodes_missing_value_tracks_true or np.zeros(count)).astype(bool),
        np.asarray(tree_roots), weights, members,
    )  # fmt: skip
    found = ops.tree_ensemble(real(x), trees, AGGREGATES[aggregate_function])
    return transformed(found, KINDS[post_transform])


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


def listed_trees(targets: int, given: dict[str, Any], kind: str) -> Trees:
    """Trees of attributes as regressors and classifiers have them: nodes by tree and number."""
    keys = list(zip(given["nodes_treeids"], given["nodes_nodeids"], strict=True))
    number = {key: place for place, key in enumerate(keys)}
    if len(number) < len(keys):
        raise BadArgument("two nodes of a tree ensemble have the same number")
    unknown = set(given["nodes_modes"]) - set(MODES)
    if unknown:
        raise BadArgument(f"a tree ensemble has no mode {', '.join(sorted(unknown))}")
    modes = np.array([MODES.index(each) for each in given["nodes_modes"]])

    def following(name: str) -> Array:
        pairs = zip(modes, keys, given[name], strict=True)
        found = [
            place if mode == LEAF else number.get((tree, node), len(keys))
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
        if (tree, node) not in number:
            raise BadArgument(f"a weight is of node {node} of tree {tree}, which is not there")
        place = number[tree, node]
        weights[place, target] = np.nan_to_num(weights[place, target]) + weight
    missing = given["nodes_missing_value_tracks_true"] or np.zeros(len(keys))
    return Trees(
        np.array(given["nodes_featureids"]), np.array(floats(given, "nodes_values")),
        np.where(modes == LEAF, 0, modes), following("nodes_truenodeids"),
        following("nodes_falsenodeids"), np.asarray(missing).astype(bool),
        np.array(list(trees.values())), weights,
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
    trees = listed_trees(n_targets or 1, given, "target")
    how = aggregate_function.lower()
    found = with_base(ops.tree_ensemble(real(x), trees, how), given)  # type: ignore[arg-type]
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
) -> tuple[Tensor | HostValue, Tensor]:  # fmt: skip
    """The label of each row, and its scores by class."""
    given = dict(locals())
    classes = len(classlabels_int64s or classlabels_strings or ())
    if not class_ids or not classes:
        raise BadArgument("a classifier without classes")
    base, weights = floats(given, "base_values"), floats(given, "class_weights")
    trees = listed_trees(classes, given, "class")
    sums = ops.cast(ops.tree_ensemble(real(x), trees), f32)
    is_one = classes == 2 and len(set(class_ids)) == 1
    if not is_one:
        scores = sums if base is None else ops.add(sums, constant(base, f32))
        scores = transformed(scores, post_transform)
        place = ops.argmax(scores, 1)
    else:
        is_share = min(weights) >= 0
        scores, place = of_one_class(sums, class_ids[0], base, is_share, post_transform)
    return labelled(place, classlabels_int64s, classlabels_strings), scores


def of_one_class(
    sums: Tensor, which: int, base: Sequence[float] | None, is_share: bool, how: str
) -> tuple[Tensor, Tensor]:
    """Scores of two classes where leaves have weights for `which` of them only, and the number of
    the better one: as ONNX Runtime, which takes weights that are all positive for shares of 1."""
    if base is not None and len(base) != 1:
        raise NotYet("values of two classes without trees, where trees are of one class")
    score = ops.slice(sums, 1, which, which + 1)
    if which == 0:
        score = score if base is None else ops.add(score, float(base[0]))
        scores = binary_scores(score, how, is_share)
    else:
        scores = transformed(sums, how)
    return scores, ops.cast(ops.greater(ops.squeeze(score, 1), 0.5 if is_share else 0.0), i64)
