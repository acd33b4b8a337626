"""Convolutions: padding, strides, dilations, groups, formats, transposes."""

import itertools

import tensorflow as tf

from op_cases.case import Case, case, channels_first, floats

raw = tf.raw_ops


def conv(name: str, image: tuple[int, ...], weight: tuple[int, ...], **how: object) -> Case:
    """tf.nn.conv2d or conv3d of an image and a weight that the model holds."""
    taps = floats(*weight)
    run = tf.nn.conv3d if len(image) == 5 else tf.nn.conv2d
    how = {"strides": [1] * len(image), "padding": "SAME"} | how
    return case(name, lambda x: run(x, tf.cast(taps, x.dtype), **how), floats(*image), ulps=32)


EXPLICIT = [[0, 0], [1, 2], [0, 1], [0, 0]]
TAPS, DEPTHWISE = floats(3, 2, 4, 5), floats(3, 3, 4, 2)
CASES = [
    *(conv(f"Conv2D-{padding}-{step}-{size}", (2, size, size + 1, 4), (3, 2, 4, 5),
           strides=[1, step, step, 1], padding=padding)
      for padding, step, size in itertools.product(("SAME", "VALID"), (1, 2, 3), (7, 8))),
    conv("Conv2D-explicit", (2, 7, 6, 4), (3, 2, 4, 5), padding=EXPLICIT, strides=[1, 2, 1, 1]),
    conv("Conv2D-large-stride", (1, 9, 9, 3), (1, 1, 3, 4), strides=[1, 3, 3, 1]),
    conv("Conv2D-groups", (2, 7, 6, 6), (3, 3, 2, 9)),
    conv("Conv2D-dilated", (2, 9, 8, 4), (3, 2, 4, 5), dilations=[1, 2, 3, 1]),
    conv("Conv3D", (2, 5, 6, 4, 3), (2, 3, 2, 3, 4), strides=[1, 2, 1, 2, 1]),
    conv("Conv3D-valid", (2, 5, 6, 4, 3), (2, 3, 2, 3, 4), padding="VALID"),
    case("conv1d", lambda x: tf.nn.conv1d(x, tf.cast(floats(3, 4, 5), x.dtype), 2, "SAME"),
         floats(2, 9, 4), ulps=32),
    *(case(f"DepthwiseConv2dNative-{padding}-{step}",
           lambda x, padding=padding, step=step: tf.nn.depthwise_conv2d(
               x, tf.cast(DEPTHWISE, x.dtype), [1, step, step, 1], padding),
           floats(2, 8, 7, 4), ulps=32)
      for padding in ("SAME", "VALID") for step in (1, 2)),
    case("DepthwiseConv2dNative-explicit", lambda x: tf.nn.depthwise_conv2d(
        x, tf.cast(DEPTHWISE, x.dtype), [1, 1, 1, 1], EXPLICIT), floats(2, 8, 7, 4), ulps=32),
    case("separable", lambda x: tf.nn.separable_conv2d(
        x, tf.cast(DEPTHWISE, x.dtype), tf.cast(floats(1, 1, 8, 3), x.dtype), [1, 1, 1, 1],
        "SAME"), floats(2, 8, 7, 4), ulps=32),
    *(case(f"Conv2DBackpropInput-{padding}-{step}-{size}",
           lambda x, padding=padding, step=step, size=size: tf.nn.conv2d_transpose(
               x, tf.cast(floats(3, 2, 5, 4), x.dtype),
               [tf.shape(x)[0], size, size + 1, 5], [1, step, step, 1], padding),
           floats(2, -(-(size - (0 if padding == "SAME" else 2)) // step),
                  -(-(size + 1 - (0 if padding == "SAME" else 1)) // step), 4), ulps=32)
      for padding, step, size in itertools.product(("SAME", "VALID"), (1, 2), (7, 8))),
    case("Conv2DBackpropInput-explicit", lambda x: tf.nn.conv2d_transpose(
        x, tf.cast(floats(3, 3, 5, 4), x.dtype), [2, 9, 10, 5], [1, 2, 2, 1],
        [[0, 0], [1, 1], [1, 0], [0, 0]]), floats(2, 5, 5, 4), ulps=32, is_open=False),
    case("Conv3DBackpropInputV2", lambda x: tf.nn.conv3d_transpose(
        x, tf.cast(floats(2, 3, 2, 5, 4), x.dtype), [tf.shape(x)[0], 6, 5, 4, 5],
        [1, 2, 1, 2, 1], "SAME"), floats(2, 3, 5, 2, 4), ulps=32),
    case("BiasAdd", lambda x: tf.nn.bias_add(x, tf.cast([1.0, -2.0, 3.0], x.dtype)),
         floats(2, 5, 3)),
    case("BiasAdd-NCHW", lambda x: tf.nn.bias_add(
        x, tf.cast([1.0, -2.0, 3.0], x.dtype), data_format="NC..."), floats(2, 3, 5, 4)),
    case("space_to_batch", lambda x: tf.nn.convolution(
        x, tf.cast(TAPS, x.dtype), padding="SAME", dilations=[2, 3]), floats(2, 9, 8, 4), ulps=32),
    *(case(f"SpaceToBatchND-{name}", lambda x, padding=padding, pads=pads, crops=crops: (
        raw.BatchToSpaceND(
            input=tf.nn.conv2d(
                raw.SpaceToBatchND(input=x, block_shape=[2, 3], paddings=pads),
                tf.cast(TAPS, x.dtype), 1, padding),
            block_shape=[2, 3], crops=crops)), floats(2, 7, 8, 4), ulps=32)
      for name, padding, pads, crops in (
          ("valid", "VALID", [[0, 1], [0, 1]], [[0, 1], [0, 1]]),
          ("same", "VALID", [[2, 3], [1, 3]], [[0, 1], [0, 2]]),
          ("apart", "SAME", [[2, 3], [1, 3]], [[0, 1], [0, 2]]))),
    case("DepthToSpace", lambda x: tf.nn.depth_to_space(x, 2), floats(2, 3, 5, 12)),
    case("SpaceToDepth", lambda x: tf.nn.space_to_depth(x, 2), floats(2, 6, 4, 3)),
    case("SpaceToBatchND", lambda x: raw.SpaceToBatchND(
        input=x, block_shape=[2, 3], paddings=[[1, 0], [0, 1]]), floats(2, 7, 8, 4)),
    case("BatchToSpaceND", lambda x: raw.BatchToSpaceND(
        input=x, block_shape=[2, 3], crops=[[1, 0], [0, 1]]), floats(12, 3, 4, 5), is_open=False),
    channels_first("Conv2D", lambda x, form: tf.nn.conv2d(
        x, tf.cast(TAPS, x.dtype), (2, 1), "SAME", form), floats(2, 4, 7, 8)),
    channels_first("DepthwiseConv2dNative", lambda x, form: tf.nn.depthwise_conv2d(
        x, tf.cast(DEPTHWISE, x.dtype), [1] * 4, "VALID", form), floats(2, 4, 7, 8)),
    channels_first("Conv3D", lambda x, form: tf.nn.conv3d(
        x, tf.cast(floats(2, 3, 2, 3, 4), x.dtype), [1] * 5, "SAME",
        "NCDHW" if form == "NCHW" else "NDHWC"), floats(2, 3, 5, 4, 6)),
    channels_first("Conv2DBackpropInput", lambda x, form: tf.nn.conv2d_transpose(
        x, tf.cast(floats(3, 2, 5, 4), x.dtype),
        [2, 5, 9, 8] if form == "NCHW" else [2, 9, 8, 5], 2, "SAME", form),
        floats(2, 4, 5, 4), is_open=False),
    channels_first("DepthToSpace", lambda x, form: tf.nn.depth_to_space(x, 2, form),
                   floats(2, 12, 3, 5)),
    channels_first("SpaceToDepth", lambda x, form: tf.nn.space_to_depth(x, 2, form),
                   floats(2, 3, 6, 4)),
]  # fmt: skip
