"""Non-maximum suppression: boxes that overlap a box of a higher score are dropped."""

from __future__ import annotations

from typing import Any, Literal

from hidet.compute.sizes import agree, spelled
from hidet.errors import ShapeMismatch
from hidet.graph import Tensor
from hidet.ops.elementwise.binary import (
    add,
    divide,
    logical_and,
    logical_or,
    maximum,
    minimum,
    multiply,
    subtract,
)
from hidet.ops.elementwise.compare import equal, greater, less
from hidet.ops.elementwise.select import clamp
from hidet.ops.elementwise.unary import logical_not
from hidet.ops.flow.loops import loop
from hidet.ops.indexing.compact import nonzero_columns
from hidet.ops.indexing.index import gather, take
from hidet.ops.indexing.ordering import topk
from hidet.ops.reductions.reduce import any as any_of
from hidet.ops.reductions.reduce import argmax
from hidet.ops.reductions.reduce import max as greatest
from hidet.ops.reductions.reduce import sum as total
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import iota, ones_like, size_value, zeros
from hidet.ops.tensors.joining import stack
from hidet.ops.tensors.shape import reshape
from hidet.ops.tensors.size_from import size_from
from hidet.ops.tensors.slicing import select
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
    are numbers or tensors of one element. Each iteration takes a box of every class.
    Source: ONNX NonMaxSuppression-11.
    """
    _, order, kept = ranked_boxes(
        boxes,
        scores,
        iou_threshold=iou_threshold,
        most=most,
        score_threshold=score_threshold,
        form=form,
    )
    batch, kind, place = nonzero_columns(kept)
    return stack([batch, kind, take(order, [batch, kind, place])], 1)


def ranked_boxes(
    boxes: Tensor,
    scores: Tensor,
    *,
    iou_threshold: Any = 0.0,
    most: Any = None,
    score_threshold: Any = None,
    form: Corners = "corners",
) -> tuple[Tensor, Tensor, Tensor]:
    """The scores of each class from high to low, the boxes that have them (i64), and which of those
    `non_max_suppression` takes (boolean): [batch, classes, m] each.

    With `score_threshold`, m is the greatest number of scores of a class above it, which each call
    reads, and 1 if there are none; it is n without. Arguments and errors are those
    of `non_max_suppression`.
    """
    fits = boxes.ndim == scores.ndim == 3 and agree(boxes.shape[2], 4)
    if not fits or not (
        agree(boxes.shape[0], scores.shape[0]) and agree(boxes.shape[1], scores.shape[2])
    ):
        raise ShapeMismatch(
            "boxes are [batch, n, 4] and scores [batch, classes, n], not "
            f"{spelled(boxes.shape)} and {spelled(scores.shape)}"
        )
    number = scores.shape[2]
    if score_threshold is not None:
        above = cast(greater(scores, single(score_threshold)), i64)
        # One box at least, if there is any: no iteration has a best of none.
        least = minimum(size_value(number, i64, device=scores.device), 1)
        most_above = maximum(greatest(total(above, 2)), least)
        number = size_from(most_above, "boxes above the threshold")
    ordered, order = topk(scores, number, 2)
    allowed = ones_like(ordered, boolean)
    if score_threshold is not None:
        allowed = greater(ordered, single(score_threshold))
    return ordered, order, kept_boxes(edges_of(boxes, order, form), allowed, iou_threshold, most)


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
    """Which boxes stay: each iteration takes the best of a class that is left, and leaves out what
    it overlaps."""
    nothing = zeros(allowed.shape, boolean, device=allowed.device)
    if allowed.shape[2] == 0:
        return nothing
    place = iota(allowed.shape[2], device=allowed.device)

    def iteration(
        number: Tensor, kept: Tensor, left: Tensor
    ) -> tuple[Tensor, list[Tensor], list[Any]]:
        best = argmax(left, 2, keepdims=True)
        taken = logical_and(left, equal(place, best))
        gone = logical_or(taken, overlaps(edges, best, single(threshold)))
        rest = logical_and(left, logical_not(gone))
        return goes_on(rest, add(number, 1), most), [logical_or(kept, taken), rest], []

    first = goes_on(allowed, zeros((), i64, device=allowed.device), most)
    return loop(iteration, [nothing, allowed], trips=allowed.shape[2], go_on=first)[0][0]


def goes_on(left: Tensor, number: Tensor, most: Any) -> Tensor:
    """Whether a box is left, and fewer than `most` were taken."""
    some = any_of(left)
    return some if most is None else logical_and(some, less(number, single(most)))


def overlaps(edges: list[Tensor], best: Tensor, threshold: Any) -> Tensor:
    """Which boxes share something with the box `best` of their class, and more than `threshold` of
    what both cover."""
    low, left, high, right = edges
    a, b, c, d = (gather(each, 2, best) for each in edges)
    height = clamp(subtract(minimum(high, c), maximum(low, a)), 0.0)
    width = clamp(subtract(minimum(right, d), maximum(left, b)), 0.0)
    shared = multiply(height, width)
    areas = multiply(subtract(high, low), subtract(right, left))
    own = multiply(subtract(c, a), subtract(d, b))
    union = subtract(add(areas, own), shared)
    return logical_and(greater(shared, 0.0), greater(divide(shared, union), threshold))
