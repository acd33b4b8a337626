"""Images: colours, contrast, patches, boxes."""

import itertools

import numpy as np
import tensorflow as tf

from op_cases.case import Array, case, floats

raw = tf.raw_ops
X = floats(2, 6, 7, 3, low=0.0)
X[0, 0, :3] = [[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.25]]
CORNERS = floats(20, 2, low=0.0, high=4.0)
BOXES = np.concatenate([CORNERS, CORNERS + floats(20, 2, salt="size", low=0.5, high=2.0)], 1)
SCORES = floats(20, low=0.0)


def crowd(kinds: int) -> tuple[Array, Array]:
    """Boxes of two images, for each class if there are several kinds, and scores of three."""
    corners = floats(2, 17, kinds, 2, low=-0.2, high=0.8)
    sides = floats(2, 17, kinds, 2, salt="size", low=0.1, high=0.6)
    return np.concatenate([corners, corners + sides], -1), floats(2, 17, 3, low=0.0)


CASES = [
    case("RGBToHSV", tf.image.rgb_to_hsv, X, narrow=True),
    case("HSVToRGB", tf.image.hsv_to_rgb, X, narrow=True),
    case("AdjustContrastv2", lambda x: tf.image.adjust_contrast(x, 1.7), X, narrow=True),
    case("AdjustSaturation", lambda x: tf.image.adjust_saturation(x, 1.7), X, narrow=True, ulps=32),
    case("AdjustHue", lambda x: tf.image.adjust_hue(x, 0.3), X, narrow=True, ulps=32),
    *(case(f"ExtractImagePatches-{padding}-{step}-{rate}",
           lambda x, padding=padding, step=step, rate=rate: tf.image.extract_patches(
               x, [1, 3, 2, 1], [1, step, step, 1], [1, rate, rate, 1], padding), X)
      for padding, step, rate in itertools.product(("SAME", "VALID"), (1, 2), (1, 2))),
    case("NonMaxSuppressionV3", lambda b, s: tf.image.non_max_suppression(b, s, 7, 0.3, 0.2),
         BOXES, SCORES, narrow=True, is_open=False),
    *(case(f"NonMaxSuppressionV4-{pads}", lambda b, s, pads=pads: raw.NonMaxSuppressionV4(
        boxes=b, scores=s, max_output_size=15, iou_threshold=0.3, score_threshold=0.2,
        pad_to_max_output_size=pads), BOXES, SCORES, narrow=True, is_open=False)
      for pads in (False, True)),
    *(case(f"CombinedNonMaxSuppression-{kinds}-{pads}-{clips}",
           lambda b, s, pads=pads, clips=clips: tf.image.combined_non_max_suppression(
               b, s, 4, 11, 0.3, 0.5, pad_per_class=pads, clip_boxes=clips),
           *crowd(kinds), narrow=True)
      for kinds, pads, clips in ((1, False, True), (3, False, False), (3, True, False))),
    case("CombinedNonMaxSuppression-few", lambda b, s: tf.image.combined_non_max_suppression(
        b, s, 50, 200, 0.3, 0.9), *crowd(3), narrow=True),
    case("CombinedNonMaxSuppression-none", lambda b, s: tf.image.combined_non_max_suppression(
        b, s, 5, 5, 0.3, 2.0), *crowd(1), narrow=True),
    case("grayscale", lambda x: tf.image.rgb_to_grayscale(x), X, narrow=True),
]  # fmt: skip
