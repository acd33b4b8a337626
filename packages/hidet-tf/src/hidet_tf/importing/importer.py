"""From a FuncGraph to tensors of hidet: what the shared walk has to know about TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from hidet import ops
from hidet.errors import HidetError, InternalError, NotYet, Place
from hidet.frontend.importing.complex_numbers import Complex
from hidet.frontend.importing.importer import Importer
from hidet.frontend.importing.limits import Limits
from hidet.frontend.importing.single import as_number, one_number
from hidet.frontend.running.fallback import HostCall
from hidet.frontend.running.host_values import HostFunction, HostValue
from hidet.graph import Tensor
from hidet.types import TensorType
from hidet_tf.converters import load
from hidet_tf.converters import tf as table
from hidet_tf.converters.complex import COMPLEX
from hidet_tf.dtypes import hidet_dtype
from hidet_tf.importing.attributes import attributes
from hidet_tf.importing.complex import are_pairs, is_complex, require_pairs
from hidet_tf.importing.foreign import Left
from hidet_tf.importing.operands import grouped
from hidet_tf.importing.place import place_of
from hidet_tf.importing.resource import Resource
from hidet_tf.importing.subgraph import Subgraph
from hidet_tf.importing.walk import CALLS, FuncGraph, Node, called, live
from hidet_tf.variables import Variable

UNLIMITED = Limits(nodes=10**7)
"""What the user's own program asks for is trusted."""


class TfImporter(Importer[Node]):
    """Walks a function; `values` has by `tensor.ref()` what each tensor became."""

    framework = "TensorFlow"

    def __init__(
        self,
        device: str,
        variables: Iterable[Variable] = (),
        limits: Limits = UNLIMITED,
        *,
        asserts: bool = True,
    ) -> None:
        load()
        super().__init__(table, device, limits)
        self.silent = ("NoOp",) if asserts else ("NoOp", "Assert")
        """Operators that nothing becomes of."""
        self.outer: tuple[tf.Operation, ...] = ()
        self.places: dict[Node, Place] = {}
        self.variables = [*variables]
        self.handles: dict[int, Variable | Resource] = {id(v.handle): v for v in self.variables}

    # ---- what the walk asks ---------------------------------------------------------------------

    def key(self, node: Node) -> tuple[str, int]:
        return (COMPLEX if is_complex(node.op) else "") + node.op.type, 0

    def title(self, node: Node) -> str:
        return node.op.type

    def place(self, node: Node) -> Place:
        if node not in self.places:
            self.places[node] = place_of(node)
        return self.places[node]

    def arguments(self, node: Node) -> tuple[Sequence[Any], dict[str, Any]]:
        given = [self.value(each) for each in node.op.inputs]
        convert = self.table.find(*self.key(node))
        named = {} if convert is None else attributes(node.op, convert, partial(Subgraph, self))
        return grouped(node.op, given), named

    def results(self, node: Node) -> Sequence[Any]:
        return [each.ref() for each in node.op.outputs]

    def visit(self, node: Node) -> None:
        if node.op.type in CALLS:
            self.call(node)
        elif node.op.type == "Const" and are_pairs(node.op, self.table):
            self.bind(node, [self.constant(node.op)])
        elif node.op.type not in self.silent:
            super().visit(node)

    def bind(self, node: Node, values: Sequence[Any]) -> None:
        super().bind(node, [*map(as_number, values)])

    # ---- functions ------------------------------------------------------------------------------

    def call(self, node: Node) -> None:
        """A call of a function: its body takes the place of the call."""
        given = [self.value(each) for each in node.op.inputs]
        with self.inlined(node.op):
            results = self.subgraph(called(node.op), given)
        self.bind(node, results)

    def subgraph(self, graph: FuncGraph, given: Sequence[Any]) -> tuple[Any, ...]:
        """The results of a graph for values of its inputs, its operators taken into ours."""
        for tensor, value in zip(graph.inputs, given, strict=True):
            self.values[tensor.ref()] = value
        self.inside(live(graph, self.outer))
        return tuple(self.value(each) for each in graph.outputs)

    @contextmanager
    def inlined(self, op: tf.Operation) -> Iterator[None]:
        """In this block operators are those of a function that `op` calls."""
        before, self.outer = self.outer, (*self.outer, op)
        try:
            yield
        finally:
            self.outer = before

    @contextmanager
    def attempt(self) -> Iterator[None]:
        before = self.assigned()
        with super().attempt():
            try:
                yield
            except HidetError:
                self.assign(before)
                raise

    @contextmanager
    def look(self) -> Iterator[None]:
        before = self.assigned()
        with super().look():
            try:
                yield
            finally:
                self.assign(before)

    def assigned(self) -> list[Tensor | None]:
        """What each variable was assigned up to here."""
        return [each.after for each in self.variables]

    def assign(self, values: Sequence[Tensor | None]) -> None:
        """Let this be what each variable was assigned."""
        for variable, value in zip(self.variables, values, strict=True):
            variable.after = value

    # ---- values ---------------------------------------------------------------------------------

    def value(self, tensor: tf.Tensor) -> Any:
        """What a tensor of TensorFlow's became."""
        found = self.values.get(tensor.ref(), self)
        if found is self:
            raise InternalError(f"{tensor.name} is read before it is computed")
        return found

    def variable(self, handle: Any) -> Variable | Resource:
        """What stands for a handle of the program around the function, the same each time."""
        found = self.handles.get(id(handle))
        if found is None:
            found = self.handles[id(handle)] = Resource(handle)
        return found

    def captured(self, outside: Any) -> Any:
        """What a function reads from around it: a handle, or a tensor whose values are known."""
        if outside.dtype in (tf.resource, tf.variant):
            return self.variable(outside)
        return self.held(outside.numpy(), outside.dtype)

    def constant(self, op: tf.Operation) -> Any:
        """The tensor of a constant of the graph; text stays numpy's."""
        return self.held(tf.make_ndarray(op.get_attr("value")), op.outputs[0].dtype, op.name)

    def held(self, array: np.ndarray[Any, Any], own: tf.DType, name: str = "") -> Any:
        """An array as a constant; text stays numpy's."""
        given = np.asarray(array)
        if own == tf.string:
            return given
        if own.is_complex:
            return Complex.of(
                self.held(np.stack([given.real, given.imag], -1), own.real_dtype, name)
            )
        kind, number = hidet_dtype(own), one_number(given)
        if number is not None:
            return ops.full(given.shape, number, kind, device=self.device)
        return Tensor(TensorType(kind, given.shape), self.device, given, name=name)

    def converter(self, node: Node) -> Callable[..., Any]:
        found = super().converter(node)
        given = [self.values.get(each.ref()) for each in node.op.inputs]
        if node.op.type not in PASSING and any(map(is_foreign, given)):
            raise NotYet("it reads what only TensorFlow has")
        if is_complex(node.op):
            require_pairs(node.op, self.table)
        return found

    def leave(self, node: Node) -> HostCall | HostFunction | None:
        return Left(node.op, self.value, self.device).call()


PASSING = ("Identity", "IdentityN", "StopGradient", "PreventGradient", "Snapshot")
"""Operators that give any value on as it is."""


def is_foreign(value: Any) -> bool:
    """Whether a value is text, or a handle, which no kernel reads."""
    return isinstance(value, np.ndarray | HostValue | Resource)
