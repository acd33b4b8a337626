"""Operators that work element by element."""

from hidet import ops
from hidet_onnx.converters.table import onnx

onnx.rows({"Relu": ops.relu, "Sigmoid": ops.sigmoid, "Tanh": ops.tanh}, since=6)
onnx.rows({"Add": ops.add, "Sub": ops.subtract, "Mul": ops.multiply}, since=7)
