"""What tensors hold for given inputs: exactly, and with the noise that rounding makes.

The noisy values say how far a correct result may be off: each operator reads and gives values that
are nudged by a few units of their type's last place, and what that does is carried on. So an
operator that magnifies small differences, as a norm of nearly equal values does, is allowed more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

from hidet.compute.sizes import numbers
from hidet.graph.body import Region
from hidet.graph.data_sizes import size_source, sizes_in
from hidet.graph.evaluate import bind, learn, refer, resolved, widened
from hidet.graph.flow import FlowGraph, sorted_nodes
from hidet.graph.operator import Op
from hidet.graph.tensor import Node, Tensor
from hidet.ir.expr import Expr, Var
from hidet.ir.walk import variables
from hidet.types import DType, Size, f32

Array = np.ndarray[Any, Any]
NOTHING: Mapping[Var, Tensor] = MappingProxyType({})
NUDGE = 2.0
"""Units in the last place by which a value may be off after one operator."""
KEEP_VALUES = frozenset(
    {
        "absolute", "as_strided", "clamp", "concat", "copysign", "cummax", "cummin", "equal",
        "expand", "flip", "gather", "max", "max_pool", "maximum", "min", "minimum", "negative",
        "pad", "permute", "relu", "reshape", "roll", "slice", "slice_scatter", "sort", "take",
        "tile", "triangle", "where",
    }
)  # fmt: skip
"""Operators whose results are elements of their operands, so that nothing is rounded."""
LESS_THAN_OPERAND = frozenset({"gelu", "tanhshrink"})
"""Operators that cancel most of their operand: what they round within is as large as that."""


class Values:
    """The values of a graph's tensors, worked out as they are asked for.

    `exact` has floats in float64; `noisy` has several draws of what rounding may make of them.
    """

    def __init__(
        self,
        given: Mapping[Tensor, Array],
        draws: int = 1,
        seed: int = 0,
        size_sources: Mapping[Var, Tensor] = NOTHING,
    ) -> None:
        self.symbols: dict[Var, Expr] = {}
        self.exact: dict[Tensor, Array] = {}
        self.noisy: dict[Tensor, list[Array]] = {}
        self.rounded: set[Tensor] = set()
        """The tensors whose values depend on how something was rounded."""
        self.draws, self.random, self.size_sources = (
            draws,
            np.random.default_rng(seed),
            size_sources,
        )
        for tensor, array in given.items():
            self.give(tensor, array)

    def give(self, tensor: Tensor, array: Array) -> None:
        """Let a tensor have these values."""
        bind(tensor, np.shape(array), self.symbols)
        self.exact[tensor] = widened(array, tensor.dtype)
        self.noisy[tensor] = [self.exact[tensor]] * self.draws

    def work_out(self, tensors: Iterable[Tensor]) -> None:
        """Find the values of these tensors."""
        for node in sorted_nodes(tuple(tensors), tuple(self.exact)):
            for each in node.inputs:
                if each not in self.exact:
                    self.give(each, each.cpu().numpy())
            for size in sizes_in(node):
                self.learn(size)
            if node.outputs[0] not in self.exact:  # it did not tell one of them
                self.add(node)

    def learn(self, size: Var) -> None:
        """Find a size that a tensor tells."""
        tensor = self.size_sources.get(size, size_source(size))
        if size not in self.symbols and tensor is not None:
            self.work_out([tensor])
            learn(size, self.exact[tensor], self.symbols)

    def add(self, node: Node) -> None:
        """The values that a node gives."""
        op = node.op.with_sizes(lambda size: resolved(size, self.symbols))
        exact = refer(op, [self.exact[each] for each in node.inputs])
        self.exact.update(zip(node.outputs, exact, strict=True))
        if not node.inputs or (keeps(op) and not self.rounded.intersection(node.inputs)):
            draws = [exact] * self.draws
        else:
            draws = [self.drawn(op, node, draw) for draw in range(self.draws)]
            self.rounded.update(each for each in node.outputs if each.dtype.is_float)
        for tensor, *found in zip(node.outputs, *draws, strict=True):
            self.noisy[tensor] = found

    def drawn(self, op: Op, node: Node, draw: int) -> tuple[Array, ...]:
        """What a node may give if what it reads is a little off, and it rounds."""
        read = [self.read(each, draw) for each in node.inputs]
        if isinstance(op, Region):
            return tuple(op.follow(self.carried_on, *op.arrange(read)))
        found = refer(op, read)
        if op.name in LESS_THAN_OPERAND:
            (whole,), within = read, max(f32, node.inputs[0].dtype, key=lambda each: each.nbytes)
            found = tuple(each + (self.nudged(whole, within) - whole) for each in found)
        made = zip(found, node.outputs, strict=True)
        return tuple(self.nudged(array, each.dtype) for array, each in made)

    def carried_on(self, graph: FlowGraph, *arrays: Array) -> tuple[Array, ...]:
        """What a body may give: each of its operators rounds."""
        inside = Values({}, 1, int(self.random.integers(1 << 30)), graph.size_sources)
        for tensor, array in zip(graph.inputs, arrays, strict=True):
            inside.give(tensor, np.asarray(array))
        inside.work_out(graph.outputs)
        return tuple(inside.noisy[each][0] for each in graph.outputs)

    def read(self, tensor: Tensor, draw: int) -> Array:
        """What an operator may make of a tensor: a number that the graph holds is what it is."""
        value = self.noisy[tensor][draw]
        fixed = tensor.trace is not None and not tensor.trace[0].inputs
        return value if fixed else self.nudged(value, tensor.dtype)

    def nudged(self, array: Array, of: DType) -> Array:
        """Floats a little off."""
        if not of.is_float:
            return array
        away = self.random.uniform(-NUDGE, NUDGE, array.shape) * epsilon(of)
        return np.asarray(array * (1 + away))

    def shape(self, shape: Sequence[Size]) -> tuple[int, ...]:
        """Sizes as numbers."""
        for size in shape:
            for each in variables(size) if isinstance(size, Expr) else ():
                self.learn(each)
        return tuple(numbers(tuple(resolved(size, self.symbols) for size in shape)))


def keeps(op: Op) -> bool:
    """Whether what an operator gives is free of rounding where its operands are."""
    return op.name in KEEP_VALUES or not any(each.dtype.is_float for each in op.results())


def epsilon(of: DType) -> float:
    """The distance from 1 to the next float of a type."""
    return float(ml_dtypes.finfo(of.numpy).eps)  # type: ignore[no-untyped-call]


def least(of: DType) -> float:
    """The smallest number of a type that has all its digits; below, some drop to zero."""
    return float(ml_dtypes.finfo(of.numpy).tiny)  # type: ignore[no-untyped-call]
