"""What the data select: as many elements come out as a call finds."""

from __future__ import annotations

from hidet import ops
from hidet.graph import Tensor
from hidet.types import i64
from hidet_onnx.converters.known import constant
from hidet_onnx.converters.table import onnx


@onnx("NonZero", since=9)
def nonzero(x: Tensor) -> Tensor:
    """The positions of the elements that are not zero, a row for each axis."""
    return ops.permute(ops.nonzero(x), (1, 0))


@onnx("Compress", since=9)
def compress(x: Tensor, condition: Tensor, *, axis: int | None = None) -> Tensor:
    """The slices along an axis, or of all elements in a row, where the condition holds."""
    return ops.compress(x, condition, axis)


@onnx("Unique", since=11)
def unique(
    x: Tensor, *, axis: int | None = None, sorted: int = 1
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Elements or slices once each, where they are first, which one each is, and how many."""
    return ops.unique(x, axis, ordered=bool(sorted))


@onnx("NonMaxSuppression", since=10)
def non_max_suppression(
    boxes: Tensor,
    scores: Tensor,
    most: Tensor | None = None,
    iou_threshold: Tensor | None = None,
    score_threshold: Tensor | None = None,
    *,
    center_point_box: int = 0,
) -> Tensor:
    """Boxes by falling scores without those that overlap one taken before; none if nobody says
    how many."""
    return ops.non_max_suppression(
        boxes,
        scores,
        most=constant(0, i64) if most is None else most,
        iou_threshold=0.0 if iou_threshold is None else iou_threshold,
        score_threshold=score_threshold,
        form="center" if center_point_box else "corners",
    )
