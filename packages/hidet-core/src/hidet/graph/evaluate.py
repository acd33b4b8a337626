"""The plain meaning of graphs: every operator by its numpy reference, floats in float64."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hidet.compute.sizes import tidy
from hidet.errors import ShapeMismatch
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.graph.tensor import Tensor
from hidet.ir.expr import Expr, Var, constant, wrap
from hidet.ir.walk import substitute
from hidet.types import DType, Size, i32

Array = np.ndarray[Any, Any]


def evaluate(graph: FlowGraph, *arrays: Any) -> tuple[Array, ...]:
    """The outputs for these inputs; floating-point values stay float64, whatever their type."""
    if len(arrays) != len(graph.inputs):
        raise ShapeMismatch(f"{len(arrays)} arrays for {len(graph.inputs)} inputs")
    symbols: dict[Var, Expr] = {}
    values: dict[Tensor, Array] = {}
    for tensor, array in zip(graph.inputs, arrays, strict=True):
        bind(tensor, np.shape(array), symbols)
        values[tensor] = widened(array, tensor.dtype)
    for constant_ in graph.constants:
        values[constant_] = widened(constant_.cpu().numpy(), constant_.dtype)
    data_sizes = {tensor: size for size, tensor in graph.size_sources.items()}
    for tensor in data_sizes.keys() & values.keys():
        learn(data_sizes[tensor], values[tensor], symbols)
    for node in graph.nodes:
        op = node.op.with_sizes(lambda size: resolved(size, symbols))
        results = refer(op, [values[each] for each in node.inputs])
        values.update(zip(node.outputs, results, strict=True))
        for tensor in data_sizes.keys() & set(node.outputs):
            learn(data_sizes[tensor], values[tensor], symbols)
    return tuple(values[each] for each in graph.results)


def learn(size: Var, value: Array, symbols: dict[Var, Expr]) -> None:
    """Note a size that a tensor tells, whose value is there now."""
    symbols[size] = constant(int(value), i32)


def refer(op: Op, arrays: list[Any]) -> tuple[Array, ...]:
    """What an operator's reference gives, each result at its shape, floats in float64."""
    wide = [widened(a, t.dtype) for a, t in zip(arrays, op.types(), strict=True)]
    with np.errstate(all="ignore"):
        found = op.reference(*op.arrange(wide))
    results = found if isinstance(found, tuple) else (found,)
    return tuple(
        widened(array, each.dtype) for array, each in zip(results, op.results(), strict=True)
    )


def widened(array: Any, of: DType) -> Array:
    """The values with floats in float64, integers and bools in their own type."""
    return np.asarray(array).astype(np.float64 if of.is_float else of.numpy)


def bind(tensor: Tensor, shape: tuple[int, ...], symbols: dict[Var, Expr]) -> None:
    """Learn the symbols in a tensor's shape from the shape of its array."""
    if len(shape) != tensor.ndim:
        raise ShapeMismatch(f"an input of shape {tensor.shape} was given an array of shape {shape}")
    for size, actual in zip(tensor.shape, shape, strict=True):
        if isinstance(size, Var):
            symbols.setdefault(size, constant(actual, i32))
        expected = resolved(size, symbols)
        if isinstance(expected, int) and expected != actual:
            raise ShapeMismatch(
                f"an input of shape {tensor.shape} was given an array of shape {shape}"
            )


def resolved(size: Size, symbols: Mapping[Var, Expr]) -> Size:
    """A size with the known symbols put in."""
    return size if isinstance(size, int) else tidy(substitute(wrap(size), symbols))
