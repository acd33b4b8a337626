"""Products of matrices."""

from hidet import ops
from hidet_onnx.converters.table import onnx

onnx.rows({"MatMul": ops.matmul}, since=1)
