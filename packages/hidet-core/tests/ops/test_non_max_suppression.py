"""Boxes that are taken, beside the definition in Python."""

import numpy as np
import pytest

import hidet
from hidet import ops
from hidet.errors import ShapeMismatch
from hidet.options import options


def drawn(batch, classes, n):
    random = np.random.default_rng(n)
    boxes = random.random((batch, n, 4)).astype(np.float32)
    boxes[..., 2:] += boxes[..., :2]
    return boxes, random.random((batch, classes, n)).astype(np.float32)


def overlap(one, other):
    sides = np.minimum(one[2:], other[2:]) - np.maximum(one[:2], other[:2])
    shared = np.prod(np.maximum(sides.astype(np.float64), 0))
    areas = [np.prod((each[2:] - each[:2]).astype(np.float64)) for each in (one, other)]
    return shared / (sum(areas) - shared)


def meaning(boxes, scores, threshold, most, least):
    found = []
    for batch, kind in np.ndindex(scores.shape[:2]):
        own, kept = scores[batch, kind], []
        for box in np.argsort(-own, kind="stable"):
            free = all(overlap(boxes[batch, box], boxes[batch, e]) <= threshold for e in kept)
            if own[box] > least and len(kept) < most and free:
                kept.append(box)
        found += [(batch, kind, box) for box in kept]
    return np.asarray(found, np.int64).reshape(-1, 3)


def test_each_class_of_each_batch_for_itself():
    boxes, scores = drawn(2, 3, 31)
    for threshold, most, least in ((0.3, 4, 0.4), (0.0, 99, 0.0), (0.9, 5, 0.99), (0.5, 0, 0.1)):
        found = ops.non_max_suppression(
            hidet.asarray(boxes), hidet.asarray(scores), iou_threshold=threshold, most=most,
            score_threshold=least,
        ).numpy()  # fmt: skip
        np.testing.assert_array_equal(found, meaning(boxes, scores, threshold, most, least))


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_of_any_number_of_boxes(target):
    boxes = hidet.symbol((1, "n", 4), name="boxes")
    n = boxes.shape[1]
    raw = hidet.symbol((1, 2, n), name="scores")
    most = hidet.symbol((), "int64", name="most")
    kept = ops.non_max_suppression(boxes, raw, iou_threshold=0.4, most=most)
    picked = ops.take(ops.reshape(boxes, (n, 4)), [kept[:, 2]])
    with options(target=target):
        compiled = hidet.trace_from([kept, picked], [boxes, raw, most]).build()
        for count in (1, 2, 7, 40) if target == "cpu" else (3,):
            given = drawn(1, 2, count)
            found = compiled(*given, np.int64(3))
            wanted = meaning(*given, 0.4, 3, -1.0)
            np.testing.assert_array_equal(found[0].numpy(), wanted)
            np.testing.assert_array_equal(found[1].numpy(), given[0][0][wanted[:, 2]])


@pytest.mark.parametrize("target", ["cpu", "sim"])
def test_ranked_boxes_are_those_above_the_threshold(target):
    boxes, raw = hidet.symbol((2, 7, 4), name="boxes"), hidet.symbol((2, 3, 7), name="scores")
    ranked = ops.ranked_boxes(boxes, raw, iou_threshold=0.3, most=2, score_threshold=0.4)
    with options(target=target):
        compiled = hidet.trace_from(list(ranked), [boxes, raw]).build()
    for given in (drawn(2, 3, 7), (drawn(2, 3, 7)[0], np.zeros((2, 3, 7), np.float32))):
        found, order, kept = (each.numpy() for each in compiled(*given))
        number = max(1, (given[1] > 0.4).sum(2).max())
        np.testing.assert_array_equal(found, -np.sort(-given[1], 2)[:, :, :number])
        np.testing.assert_array_equal(found, np.take_along_axis(given[1], order, 2))
        batch, kind, place = np.nonzero(kept)
        taken = np.stack([batch, kind, order[batch, kind, place]], 1)
        np.testing.assert_array_equal(taken, meaning(*given, 0.3, 2, 0.4))


def test_centres_and_flipped_corners_mean_the_same_boxes():
    boxes, scores = drawn(1, 1, 12)
    low, high = boxes[..., :2], boxes[..., 2:]
    flipped = np.concatenate([high, low], -1)
    centred = np.concatenate([(low + high) / 2, high - low], -1)
    wanted = meaning(boxes, scores, 0.3, 99, -1.0)
    for given, form in ((flipped, "corners"), (centred, "center")):
        found = ops.non_max_suppression(
            hidet.asarray(given), hidet.asarray(scores), iou_threshold=0.3, form=form
        )
        np.testing.assert_array_equal(found.numpy(), wanted)


def test_what_does_not_fit_is_said():
    with pytest.raises(ShapeMismatch, match=r"boxes are \[batch, n, 4\]"):
        ops.non_max_suppression(hidet.zeros([2, 3, 4]), hidet.zeros([2, 1, 5]))
