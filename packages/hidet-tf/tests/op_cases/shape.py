"""Shapes, sizes as tensors, joining, parting, padding."""

import numpy as np
import tensorflow as tf

from op_cases.case import case, floats, whole

raw = tf.raw_ops
X = floats(5, 7, 3)
PADS = [[1, 2], [0, 3], [0, 0]]
CASES = [
    *(case(name, lambda x, name=name: getattr(raw, name)(input=x) * 2, X) for name in (
        "Identity", "StopGradient", "PreventGradient")),
    case("CheckNumerics", lambda x: tf.debugging.check_numerics(x, "no number") * 2, X),
    case("EnsureShape", lambda x: tf.ensure_shape(x, (None, 7, 3)) * 2, X),
    case("IdentityN", lambda x, y: [each * 2 for each in tf.identity_n([x, y])], X, X),
    case("Shape", lambda x: tf.shape(x), X),
    case("Shape-int64", lambda x: tf.shape(x, tf.int64), X),
    case("ShapeN", lambda x, y: tf.shape_n([x, y]), X, floats(2, 3)),
    case("Size", lambda x: tf.size(x) + tf.cast(raw.Size(input=x, out_type=tf.int64), tf.int32),
         X),
    case("Rank", lambda x: raw.Rank(input=x), X),
    case("BroadcastArgs", lambda x, y: raw.BroadcastArgs(s0=tf.shape(x), s1=tf.shape(y)),
         floats(5, 1, 3), floats(7, 1), is_open=False),
    case("Reshape", lambda x: tf.reshape(x, (-1, 21)), X),
    case("Reshape-of-shape", lambda x: tf.reshape(x, (tf.shape(x)[0] * 3, -1)), X),
    case("Reshape-nothing", lambda x: tf.reshape(x, (0, 4)), floats(0, 3), is_open=False),
    case("Squeeze", lambda x: tf.squeeze(x, [1, -1]), floats(5, 1, 3, 1)),
    case("Squeeze-all", lambda x: tf.squeeze(x), floats(5, 1, 3, 1), is_open=False),
    case("ExpandDims", lambda x: (tf.expand_dims(x, 1), tf.expand_dims(x, -1)), X),
    case("Transpose", lambda x: tf.transpose(x, (2, 0, 1)), X),
    case("BroadcastTo", lambda x: tf.broadcast_to(x, (4, 5, 7)), floats(5, 1), is_open=False),
    case("BroadcastTo-of-shape", lambda x: tf.broadcast_to(x[:, :1], tf.shape(x)), X),
    case("Tile", lambda x: tf.tile(x, (2, 1, 3)), X),
    case("Pack", lambda x, y: tf.stack([x, y], 1), X, X[::-1].copy()),
    case("Unpack", lambda x: tf.unstack(x, axis=1), X),
    case("ConcatV2", lambda x, y: tf.concat([x, y, x], -1), X, X[..., :2].copy()),
    case("Concat", lambda x, y: raw.Concat(concat_dim=1, values=[x, y]), X, X),
    case("Split", lambda x: tf.split(x, 3, 1), floats(5, 9, 2)),
    case("SplitV", lambda x: tf.split(x, [2, -1, 3], 1), floats(5, 9, 2)),
    case("Pad", lambda x: tf.pad(x, PADS), X),
    case("PadV2", lambda x: tf.pad(x, PADS, constant_values=2), X),
    case("Pad-int32", lambda x: tf.pad(x, PADS[:2]), whole(3, 4)),
    case("MirrorPad-reflect", lambda x: tf.pad(x, PADS, "REFLECT"), X),
    case("MirrorPad-symmetric", lambda x: tf.pad(x, PADS, "SYMMETRIC"), X),
    case("ReverseV2", lambda x: tf.reverse(x, [0, -1]), X),
    case("Roll", lambda x: tf.roll(x, [2, -1], [0, 2]), X),
    case("ReverseSequence", lambda x, n: tf.reverse_sequence(x, n, seq_axis=1), X,
         np.int32([1, 7, 3, 0, 4])),
    case("MatrixBandPart", lambda x: (tf.linalg.band_part(x, 1, -1), tf.linalg.band_part(x, -1, 0),
                                      tf.linalg.band_part(x, 2, 1)), floats(2, 6, 5)),
]  # fmt: skip
