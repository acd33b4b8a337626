"""Images at other sizes."""

import itertools

import numpy as np
import tensorflow as tf

from op_cases.case import case, floats, whole

raw = tf.raw_ops
X = floats(2, 7, 10, 3)
SIZES = ([5, 4], [13, 10], [1, 23])
FLAGS = ((False, False), (True, False), (False, True))
BOXES = np.float32([[0, 0, 1, 1], [0.2, 0.9, 0.7, 0.1], [-0.3, 0.1, 0.5, 1.4]])

CASES = [
    *(case(f"{name}-{size}-{align}-{half}",
           lambda x, name=name, size=size, align=align, half=half: getattr(raw, name)(
               images=x, size=size, align_corners=align, half_pixel_centers=half),
           X, narrow=True, ulps=32)
      for name, size, (align, half) in itertools.product(
          ("ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic"), SIZES, FLAGS)),
    *(case(f"ResizeArea-{size}-{align}", lambda x, size=size, align=align: raw.ResizeArea(
        images=x, size=size, align_corners=align), X, narrow=True, ulps=32)
      for size, align in itertools.product(SIZES, (False, True))),
    *(case(f"ScaleAndTranslate-{method}-{size}", lambda x, method=method, size=size:
           tf.image.resize(x, size, method, antialias=True), X, narrow=True, ulps=32)
      for method, size in itertools.product(
          ("bilinear", "lanczos3", "lanczos5", "bicubic", "gaussian", "mitchellcubic"), SIZES)),
    case("ScaleAndTranslate-moved", lambda x: raw.ScaleAndTranslate(
        images=x, size=[6, 9], scale=[0.8, 1.3], translation=[1.5, -2.0], kernel_type="box"),
        X, narrow=True, ulps=32),
    case("ScaleAndTranslate-lanczos1", lambda x: raw.ScaleAndTranslate(
        images=x, size=[6, 9], scale=[0.8, 1.3], translation=[0.5, 0.0], kernel_type="lanczos1",
        antialias=False), X, narrow=True, ulps=32),
    case("ResizeNearestNeighbor-uint8", lambda x: tf.image.resize(x, (5, 5), "nearest"),
         whole(2, 7, 4, 3, low=0, high=256, kind="uint8")),
    case("ResizeBilinear-open", lambda x: tf.image.resize(x, 2 * tf.shape(x)[1:3]), X,
         narrow=True, ulps=32),
    *(case(f"CropAndResize-{method}-{size}", lambda x, b, method=method, size=size:
           tf.image.crop_and_resize(x, b, [0, 1, 1], size, method, 0.5), X, BOXES, narrow=True,
           ulps=64, is_open=False)
      for method, size in itertools.product(("bilinear", "nearest"), ([4, 5], [1, 3]))),
]  # fmt: skip
