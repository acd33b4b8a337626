"""Boxes without those that overlap a better one."""

from __future__ import annotations

from hidet import ops
from hidet.compute.sizes import tidy
from hidet.errors import NotYet
from hidet.frontend.importing.operands import integer
from hidet.graph import Tensor
from hidet.types import Size, f32, i32
from hidet_tf.converters.table import tf


@tf("NonMaxSuppressionV3")
def non_max_suppression(
    boxes: Tensor, scores: Tensor, most: Tensor, overlap: Tensor, least: Tensor
) -> Tensor:
    """Boxes by falling scores without those that overlap one taken before, as many as there are."""
    found = ops.non_max_suppression(
        ops.unsqueeze(boxes, 0), ops.reshape(scores, (1, 1, -1)), most=most,
        iou_threshold=overlap, score_threshold=least,
    )  # fmt: skip
    return ops.cast(ops.select(found, 1, 2), i32)


@tf("NonMaxSuppressionV4")
def non_max_suppression_padded(
    boxes: Tensor, scores: Tensor, most: Tensor, overlap: Tensor, least: Tensor, *,
    pad_to_max_output_size: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The same, with zeros after them if so asked, and how many they are."""
    found = non_max_suppression(boxes, scores, most, overlap, least)
    count = ops.size_value(found.shape[0], i32, device=found.device)
    if pad_to_max_output_size:
        found = ops.pad(found, [(0, tidy(integer(most) - found.shape[0]))])
    return found, count


@tf("CombinedNonMaxSuppression")
def combined_non_max_suppression(
    boxes: Tensor, scores: Tensor, most: Tensor, total: Tensor, overlap: Tensor, least: Tensor, *,
    pad_per_class: bool, clip_boxes: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """The best boxes of all classes together, zeros after them, and how many each image has.

    `boxes` is [batch, n, 1 or classes, 4] and `scores` [batch, n, classes].
    """
    classes = scores.shape[2]
    count = integer(total)
    if pad_per_class:
        if not isinstance(classes, int):
            raise NotYet("boxes of a dynamic number of classes, padded for each class")
        count = min(count, integer(most) * classes)
    ranks, order, ranked = best_of_classes(boxes, scores, most, overlap, least)
    # Zeros go after the boxes where there are fewer of them than are asked for.
    ranks = ops.pad(ranks, [(0, 0), (0, count)], value=float("-inf"))
    found, place = ops.topk(ranks, count, 1)
    taken = ops.greater(found, float("-inf"))
    place = ops.where(taken, place, 0)
    kind = ops.floor_divide(place, ranked)
    box = ops.gather(order, 1, place)
    picked = of_boxes(boxes, box, kind)
    if clip_boxes:
        picked = ops.clamp(picked, 0.0, 1.0)
    kept = [ops.where(taken, each, 0.0) for each in (found, ops.cast(kind, f32))]
    picked = ops.where(ops.unsqueeze(taken, 2), picked, 0.0)
    return picked, kept[0], kept[1], ops.sum(ops.cast(taken, i32), 1)


def best_of_classes(
    boxes: Tensor, scores: Tensor, most: Tensor, overlap: Tensor, least: Tensor
) -> tuple[Tensor, Tensor, Size]:
    """The scores of all classes, -inf where a better box overlaps, whose they are:
    [batch, classes * m] both, and m, how many are ranked of a class."""
    batch, number, classes = scores.shape
    each = ops.permute(scores, (0, 2, 1))
    if boxes.shape[2] == 1:
        own = ops.select(boxes, 2, 0)
    else:
        own = ops.reshape(ops.permute(boxes, (0, 2, 1, 3)), (batch * classes, number, 4))
        each = ops.reshape(each, (batch * classes, 1, number))
    ranks, order, kept = ops.ranked_boxes(
        own, each, most=most, iou_threshold=overlap, score_threshold=least
    )
    ranks = ops.where(kept, ranks, float("-inf"))
    ranked = ranks.shape[2]
    together = (batch, tidy(classes * ranked))
    return ops.reshape(ranks, together), ops.reshape(order, together), ranked


def of_boxes(boxes: Tensor, box: Tensor, kind: Tensor) -> Tensor:
    """These boxes of each image, each as its class has it: [batch, count, 4]."""
    batch = ops.reshape(ops.iota(boxes.shape[0], device=boxes.device), (boxes.shape[0], 1))
    if boxes.shape[2] == 1:
        return ops.take(ops.select(boxes, 2, 0), [batch, box])
    return ops.take(boxes, [batch, box, kind])
