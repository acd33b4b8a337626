"""Numbers on grids."""

import itertools

import numpy as np
import tensorflow as tf

from op_cases.case import case, floats

raw = tf.raw_ops
X = floats(5, 7) * 4

CASES = [
    *(case(f"FakeQuantWithMinMaxArgs-{low}-{high}-{bits}-{narrow}",
           lambda x, how=(low, high, bits, narrow): tf.quantization.fake_quant_with_min_max_args(
               x, *how), X, narrow=True)
      for (low, high), bits, narrow in itertools.product(
          ((-6, 6), (-0.1, 6), (0.5, 3), (-3, -1)), (8, 4), (False, True))),
    case("FakeQuantWithMinMaxVars", lambda x, a, b: tf.quantization.fake_quant_with_min_max_vars(
        x, a, b), X, np.float32(-1.3), np.float32(5.1), narrow=True),
    case("FakeQuantWithMinMaxVarsPerChannel", lambda x:
         tf.quantization.fake_quant_with_min_max_vars_per_channel(
             x, -np.abs(X[0]) - 0.1, np.abs(X[1]) + 0.2), X, narrow=True),
    *(case(f"QuantizeAndDequantizeV4-{signed}-{given}-{mode}-{narrow}",
           lambda x, signed=signed, given=given, mode=mode, narrow=narrow:
           raw.QuantizeAndDequantizeV4(
               input=x, input_min=tf.cast(-2.0 * signed, x.dtype), input_max=tf.cast(3, x.dtype),
               signed_input=signed, range_given=given, round_mode=mode, narrow_range=narrow),
           X if signed else np.abs(X), narrow=True, is_open=False)
      for signed, given, mode, narrow in itertools.product(
          (True, False), (True, False), ("HALF_TO_EVEN", "HALF_UP"), (True, False))),
    case("QuantizeAndDequantizeV4-axis", lambda x: raw.QuantizeAndDequantizeV4(
        input=x, input_min=[-1.0] * 7, input_max=[1.0] * 7, axis=1), X, narrow=True, is_open=False),
    case("QuantizeAndDequantizeV2", lambda x: raw.QuantizeAndDequantizeV2(
        input=x, input_min=-2.0, input_max=3.0, range_given=True), X, narrow=True),
]  # fmt: skip
