"""Products of matrices."""

import tensorflow as tf

from op_cases.case import case, floats, whole

raw = tf.raw_ops
A, B = floats(7, 5), floats(5, 3)

CASES = [
    case("MatMul", tf.matmul, A, B, is_open=False),
    case("MatMul-a", lambda x, y: tf.matmul(x, y, transpose_a=True), floats(5, 7), B,
         is_open=False),
    case("MatMul-b", lambda x, y: tf.matmul(x, y, transpose_b=True), A, floats(3, 5)),
    case("BatchMatMulV2", tf.matmul, floats(2, 3, 7, 5), floats(3, 5, 4), is_open=False),
    case("BatchMatMulV2-adjoint", lambda x, y: tf.matmul(x, y, adjoint_a=True, adjoint_b=True),
         floats(2, 5, 7), floats(2, 3, 5)),
    case("BatchMatMul", lambda x, y: raw.BatchMatMul(x=x, y=y), floats(2, 7, 5), floats(2, 5, 3)),
    case("BatchMatMulV3",
         lambda x, y: tf.matmul(x, y, output_type=tf.int32),
         whole(2, 7, 5, low=-128, high=128, kind="int8"),
         whole(2, 5, 3, low=-128, high=128, kind="int8", salt="b")),
    case("Einsum", lambda x, y: tf.einsum("bhqd,bhkd->bhqk", x, y),
         floats(2, 3, 5, 7), floats(2, 3, 4, 7)),
    case("Einsum-ellipsis", lambda x, y: tf.einsum("...ij,jk->...ik", x, y),
         floats(2, 3, 5), floats(5, 4), is_open=False),
    case("tensordot", lambda x, y: tf.tensordot(x, y, 1), floats(2, 3, 5), floats(5, 4),
         is_open=False),
]  # fmt: skip
