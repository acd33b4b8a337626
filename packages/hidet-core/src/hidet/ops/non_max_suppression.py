"""Of boxes that overlap those with the highest scores."""

from __future__ import annotations

from typing import Any, Literal

from hidet.compute.sizes import agree, spelled
from hidet.errors import ShapeMismatch
from hidet.graph import Tensor
from hidet.ops.binary import (
    add,
    divide,
    logical_and,
    logical_or,
    maximum,
    minimum,
    multiply,
    subtract,
)
from hidet.ops.cast import cast
from hidet.ops.compact import nonzero_columns
from hidet.ops.compare import equal, greater, less
from hidet.ops.create import iota, ones_like, zeros
from hidet.ops.index import take
from hidet.ops.joining import stack
from hidet.ops.loops import loop
from hidet.ops.ordering import sort
from hidet.ops.reduce import any as any_of
from hidet.ops.reduce import sum as total
from hidet.ops.select import clamp
from hidet.ops.shape import reshape
from hidet.ops.slicing import select
from hidet.ops.unary import logical_not
from hidet.types import boolean, i64

Corners = Literal["corners", "center"]


def non_max_suppression(
    boxes: Tensor,
    scores: Tensor,
    *,
    iou_threshold: Any = 0.0,
    most: Any = None,
    score_threshold: Any = None,
    form: Corners = "corners",
) -> Tensor:
    """Boxes of each batch and class by falling scores, without those that overlap one taken before
    by more than `iou_threshold` (intersection over union): i64[count, 3] of batch, class and box.

    `boxes` is [batch, n, 4]: two opposite corners, or centre and size; `scores` is [batch, classes,
    n]. At most `most` of a class are taken, only those of a score above `score_threshold`. These
    are numbers or tensors of one element. Each box takes a turn. Source: ONNX NonMaxSuppression-11.
    """
    fits = boxes.ndim == scores.ndim == 3 and agree(boxes.shape[2], 4)
    if not fits or not (
        agree(boxes.shape[0], scores.shape[0]) and agree(boxes.shape[1], scores.shape[2])
    ):
        raise ShapeMismatch(
            "boxes are [batch, n, 4] and scores [batch, classes, n], not "
            f"{spelled(boxes.shape)} and {spelled(scores.shape)}"
        )
    ordered, order = sort(scores, 2, descending=True)
    allowed = ones_like(ordered, boolean)
    if score_threshold is not None:
        allowed = greater(ordered, single(score_threshold))
    kept = kept_boxes(edges_of(boxes, order, form), allowed, iou_threshold, most)
    batch, kind, place = nonzero_columns(kept)
    return stack([batch, kind, take(order, [batch, kind, place])], 1)


def single(value: Any) -> Any:
    """A number, or a tensor of one element without axes."""
    return reshape(value, ()) if isinstance(value, Tensor) else value


def edges_of(boxes: Tensor, order: Tensor, form: Corners) -> list[Tensor]:
    """The lower edges of the boxes along both axes, then the upper ones, in the order of each
    class: [batch, classes, n] each."""
    batch = reshape(iota(boxes.shape[0], device=boxes.device), (boxes.shape[0], 1, 1))
    a, b, c, d = (take(select(boxes, 2, each), [batch, order]) for each in range(4))
    if form == "center":
        half = [multiply(each, 0.5) for each in (c, d)]
        a, b, c, d = (
            subtract(a, half[0]), subtract(b, half[1]), add(a, half[0]), add(b, half[1])
        )  # fmt: skip
    return [minimum(a, c), minimum(b, d), maximum(a, c), maximum(b, d)]


def kept_boxes(edges: list[Tensor], allowed: Tensor, threshold: Any, most: Any) -> Tensor:
    """Which boxes stay: turn by turn one that no box before it which stays overlaps."""
    low, left, high, right = edges
    area = multiply(subtract(high, low), subtract(right, left))
    place = iota(allowed.shape[2], device=allowed.device)

    def turn(number: Tensor, kept: Tensor) -> tuple[None, list[Tensor], list[Tensor]]:
        def own(each: Tensor) -> Tensor:
            return take(each, [None, None, reshape(number, (1,))])

        height = subtract(minimum(high, own(high)), maximum(low, own(low)))
        width = subtract(minimum(right, own(right)), maximum(left, own(left)))
        shared = multiply(clamp(height, 0.0), clamp(width, 0.0))
        union = subtract(add(area, own(area)), shared)
        over = logical_and(greater(shared, 0.0), greater(divide(shared, union), single(threshold)))
        stays = logical_and(
            own(allowed), logical_not(any_of(logical_and(kept, over), 2, keepdims=True))
        )
        if most is not None:
            taken = total(cast(kept, i64), 2, keepdims=True)
            stays = logical_and(stays, less(taken, single(most)))
        return None, [logical_or(kept, logical_and(stays, equal(place, number)))], []

    nothing = zeros(allowed.shape, boolean, device=allowed.device)
    return loop(turn, [nothing], trips=allowed.shape[2])[0][0]
