"""Matrices: diagonals, determinants, cross products."""

import tensorflow as tf

from op_cases.case import case, floats

X = floats(2, 5, 7)
CASES = [
    *(case(f"MatrixDiagPartV3-{k}", lambda x, k=k: tf.linalg.diag_part(x, k=k), X)
      for k in (0, 2, -3)),
    *(case(f"MatrixDiagV3-{k}", lambda x, k=k: tf.linalg.diag(x, k=k, padding_value=0.5),
           floats(2, 5)) for k in (0, 2, -3)),
    case("MatrixDiagV3-rows", lambda x: tf.linalg.diag(x, k=1, num_rows=5), floats(2, 5)),
    case("MatrixDiagV3-sizes", lambda x: tf.linalg.diag(x, num_rows=7, num_cols=5), floats(2, 5)),
    *(case(f"MatrixSetDiagV3-{k}", lambda x, d, k=k: tf.linalg.set_diag(x, d, k=k), X,
           floats(2, n), is_open=False) for k, n in ((0, 5), (3, 4), (-1, 4))),
    case("MatrixDeterminant", tf.linalg.det, floats(3, 5, 5), ulps=64),
    case("Cross", tf.linalg.cross, floats(5, 3), floats(5, 3, salt="b"), is_open=False),
    case("trace", tf.linalg.trace, X),
]  # fmt: skip
