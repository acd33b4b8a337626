"""Rows combined by segments."""

import numpy as np
import tensorflow as tf

from op_cases.case import case, floats, whole

raw = tf.raw_ops
X, ANY = floats(9, 3), np.int32([3, -1, 0, 0, 4, 3, 3, -1, 0])
RISING = np.int32([0, 0, 1, 3, 3, 3, 4, 4, 6])
NAMES = ("Sum", "Prod", "Max", "Min")

CASES = [
    *(case(f"UnsortedSegment{name}", lambda x, s, name=name: getattr(
        raw, f"UnsortedSegment{name}")(data=x, segment_ids=s, num_segments=6), X, ANY,
        is_open=False) for name in ("Sum", "Prod")),
    *(case(f"UnsortedSegment{name}", lambda x, s, name=name: getattr(
        raw, f"UnsortedSegment{name}")(data=x, segment_ids=s, num_segments=6), X, ANY,
        is_open=False, narrow=True) for name in ("Max", "Min")),
    case("UnsortedSegmentSum-two-axes", lambda x, s: tf.math.unsorted_segment_sum(x, s, 5),
         floats(2, 4, 3), whole(2, 4, low=-1, high=5), is_open=False),
    *(case(f"Segment{name}", lambda x, s, name=name: getattr(raw, f"Segment{name}")(
        data=x, segment_ids=s), X, RISING, is_open=False) for name in (*NAMES, "Mean")),
    case("DenseBincount", lambda x: tf.math.bincount(x, minlength=6, maxlength=6),
         whole(13, low=0, high=8), is_open=False),
    case("DenseBincount-rows", lambda x: tf.math.bincount(x, minlength=6, maxlength=6, axis=-1),
         whole(3, 13, low=0, high=6)),
    case("DenseBincount-raw", lambda x, w: raw.DenseBincount(input=x, size=6, weights=w),
         whole(3, 13, low=0, high=6), floats(3, 13), narrow=True),
    case("DenseBincount-binary", lambda x: raw.DenseBincount(
        input=x, size=6, weights=tf.zeros((0,)), binary_output=True),
        whole(3, 13, low=0, high=6), narrow=True),
    case("HistogramFixedWidth", lambda x: tf.histogram_fixed_width(x, [-1.0, 1.5], 7),
         floats(41), narrow=True),
]  # fmt: skip
