"""Matrices: factors, systems, inverses, determinants, diagonals, cross products."""

import numpy as np
import tensorflow as tf

from op_cases.case import case, floats

X = floats(2, 5, 7)
A, B = floats(3, 7, 7) + 4 * np.eye(7, dtype=np.float32), floats(3, 7, 2)
POSITIVE = A @ A.swapaxes(1, 2)
BOTH = (False, True)
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
    case("LogMatrixDeterminant", tf.linalg.slogdet, A, ulps=64),
    case("Cholesky", tf.linalg.cholesky, POSITIVE, ulps=64),
    case("CholeskySolve", lambda x, b: tf.linalg.cholesky_solve(tf.linalg.cholesky(x), b),
         POSITIVE, B, ulps=256, is_open=False),
    case("Lu", tf.linalg.lu, A, ulps=64),
    case("Lu-int64", lambda x: tf.linalg.lu(x, tf.int64), floats(2, 5, 5), ulps=64),
    case("Lu-alone", tf.linalg.lu, floats(5, 5), ulps=64, is_open=False),  # open rows aren't square
    *(case(f"MatrixInverse-{a}", lambda x, a=a: tf.linalg.inv(x, adjoint=a), A, ulps=64)
      for a in BOTH),
    *(case(f"MatrixSolve-{a}", lambda x, b, a=a: tf.linalg.solve(x, b, adjoint=a), A, B,
           ulps=64, is_open=False) for a in BOTH),
    *(case(f"MatrixTriangularSolve-{low}-{a}", lambda x, b, low=low, a=a:
           tf.linalg.triangular_solve(x, b, lower=low, adjoint=a), A, B, ulps=64, is_open=False)
      for low in BOTH for a in BOTH),
    case("MatrixTriangularSolve-broadcast", lambda x, b: tf.linalg.triangular_solve(x, b),
         A[0], B, ulps=64, is_open=False),
    case("Cross", tf.linalg.cross, floats(5, 3), floats(5, 3, salt="b"), is_open=False),
    case("trace", tf.linalg.trace, X),
]  # fmt: skip
