"""Random numbers of seeds: bit for bit."""

import tensorflow as tf

from op_cases.case import Array, Case, case, floats

SEED = (3, -17)


def drawn(name: str, draw, **more: object) -> Case:
    """Numbers that take the shape of what is given."""
    return case(name, draw, SOME, **more)


SOME: Array = floats(5, 3)
random = tf.random
CASES = [
    *(drawn(f"StatelessRandomUniformV2-{kind.name}", lambda x, kind=kind: random.stateless_uniform(
        tf.shape(x), SEED, dtype=kind), ulps=0, narrow=True)
      for kind in (tf.float32, tf.float16, tf.bfloat16)),
    drawn("StatelessRandomUniformV2-float64", lambda x: random.stateless_uniform(
        (5, 3), SEED, dtype=tf.float64), ulps=0, is_open=False),
    drawn("StatelessRandomUniformV2-range", lambda x: random.stateless_uniform(
        tf.shape(x), SEED, -2.0, 3.0), ulps=1, narrow=True),
    *(drawn(f"StatelessRandomUniformIntV2-{kind.name}", lambda x, kind=kind:
            random.stateless_uniform(tf.shape(x), SEED, -7, 90, kind))
      for kind in (tf.int32, tf.int64)),
    *(drawn(f"StatelessRandomUniformFullIntV2-{kind.name}", lambda x, kind=kind:
            random.stateless_uniform(tf.shape(x), SEED, None, None, kind))
      for kind in (tf.int32, tf.int64, tf.uint32, tf.uint64)),
    drawn("StatelessRandomNormalV2", lambda x: random.stateless_normal(tf.shape(x), SEED), ulps=8,
          narrow=True),
    drawn("StatelessRandomGetKeyCounter", lambda x: tf.raw_ops.StatelessRandomGetKeyCounter(
        seed=[2**40, -1])),
    drawn("StatelessRandomUniformV2-counter", lambda x: tf.raw_ops.StatelessRandomUniformV2(
        shape=[9], key=tf.constant([2**63 + 5], tf.uint64),
        counter=tf.constant([7, 2**62], tf.uint64), alg=1), ulps=0, narrow=True),
]  # fmt: skip
