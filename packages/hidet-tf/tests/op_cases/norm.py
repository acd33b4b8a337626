"""Normalisations."""

import tensorflow as tf

from op_cases.case import case, channels_first, floats, positive

raw = tf.raw_ops
FOUR = {"scale": positive(4), "offset": floats(4), "mean": floats(4, salt="m"),
        "variance": positive(4, salt="v")}  # fmt: skip

CASES = [
    *(case(f"{name}-{training}", lambda x, name=name, training=training: getattr(raw, name)(
        x=x, **FOUR, epsilon=1e-3, is_training=training)[:3],
        floats(3, 5, 7, 4), narrow=True, ulps=64)
      for name in ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
      for training in (False, True)),
    case("FusedBatchNormV3-moved", lambda x: raw.FusedBatchNormV3(
        x=x, **FOUR, epsilon=1e-3, exponential_avg_factor=0.25)[:3],
        floats(3, 5, 7, 4), narrow=True, ulps=64),
    case("batch_normalization", lambda x: tf.nn.batch_normalization(
        x, *(tf.cast(FOUR[name], x.dtype) for name in ("mean", "variance", "offset", "scale")),
        1e-3), floats(3, 5, 7, 4), narrow=True, ulps=32),
    case("LRN", lambda x: raw.LRN(input=x, depth_radius=2, bias=1.5, alpha=0.3, beta=0.6),
         floats(3, 5, 4, 9), narrow=True, ulps=64),
    case("L2Loss", tf.nn.l2_loss, floats(3, 5, 4)),
    *(channels_first(f"FusedBatchNormV3-{training}", lambda x, form, training=training:
                     raw.FusedBatchNormV3(x=x, **FOUR, epsilon=1e-3, data_format=form,
                                          is_training=training)[0],
                     floats(3, 4, 5, 7), narrow=True)
      for training in (False, True)),
]  # fmt: skip
