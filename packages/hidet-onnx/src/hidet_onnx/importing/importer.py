"""From an ONNX graph to tensors of hidet: what the shared walk has to know about ONNX."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from onnx import GraphProto, NodeProto, SparseTensorProto, TypeProto

from hidet import ops
from hidet.errors import BadArgument, NotYet, Place
from hidet.frontend.importing.coverage import Use
from hidet.frontend.importing.importer import LOST, Importer
from hidet.frontend.importing.limits import Limits
from hidet.frontend.importing.single import as_number, one_number
from hidet.frontend.running.fallback import HostCall
from hidet.frontend.running.host_values import HostFunction, HostValue, flat, is_on_host
from hidet.graph import Tensor
from hidet.types import TensorType, dtype
from hidet_onnx.converters import TAKES_HOST_VALUES, load, table
from hidet_onnx.converters.here import Here, standing
from hidet_onnx.importing.accepted import by_schema, by_signature
from hidet_onnx.importing.attributes import Reader, require_own_attributes
from hidet_onnx.importing.functions import Functions
from hidet_onnx.importing.order import in_order
from hidet_onnx.importing.place import naming_node, place_of, title
from hidet_onnx.importing.protos import Types
from hidet_onnx.importing.reference import HostNode, computed, host_call
from hidet_onnx.importing.scope import Held, Names, Scope
from hidet_onnx.importing.subgraph import Subgraph
from hidet_onnx.importing.types import Symbols, typed
from hidet_onnx.importing.versions import domain_of, versions_of
from hidet_onnx.reading.initializers import array_of, dense_array
from hidet_onnx.reading.load import Source


class OnnxImporter(Importer[NodeProto]):
    """Walks a model; `values` has what each name stands for: see the converters' table."""

    framework = "onnx's reference evaluator"

    def __init__(self, source: Source, device: str, limits: Limits) -> None:
        load()
        super().__init__(table, device, limits)
        self.source = source
        self.symbols = Symbols()
        self.functions = Functions(source.model)
        self.scope = Scope(versions_of(source.model.opset_import))
        self.values: Names = self.names(source.model.graph)
        self.types = Types()
        self.read = Reader(self.constant, lambda graph: Subgraph(self, graph), self.type)

    # ---- what the walk asks ---------------------------------------------------------------------

    def key(self, node: NodeProto) -> tuple[tuple[str, str], int]:
        domain = domain_of(node)
        return (domain, node.op_type), self.scope.versions.get(domain, 0)

    def place(self, node: NodeProto) -> Place:
        return place_of(node, self.source.name, self.scope.called_from)

    def title(self, node: NodeProto) -> str:
        return title(node)

    def arguments(self, node: NodeProto) -> tuple[Sequence[Any], dict[str, Any]]:
        given = [self.values[name] if name else None for name in node.input]
        while given and given[-1] is None:
            given.pop()
        return given, self.read(node)

    def operator(self, node: NodeProto) -> None:
        if objection := self.objection(node):
            self.lose(node)
            self.uses.append(Use(title(node), self.place(node), objection, is_lost=True))
        else:
            super().operator(node)

    def objection(self, node: NodeProto) -> str:
        """What is wrong with a node, by its operator's schema, or its converter without one.

        Converters alone do not tell: many are operators of hidet, which take more.
        """
        key, version = self.key(node)
        convert = self.table.find(key, version)
        takes = by_signature(convert) if convert is not None else None
        if not self.functions.is_local(node):
            takes = by_schema(node.op_type, version, domain_of(node)) or takes
        return takes.objection(node) if takes is not None else ""

    def results(self, node: NodeProto) -> Sequence[str | None]:
        return [name or None for name in node.output]

    def expand(self, node: NodeProto) -> bool:
        given = [self.values[name] if name else None for name in node.input]
        if any(each is LOST for each in given):
            if self.functions.is_local(node):  # what it lacks is named, and it is no operator
                self.lose(node)
            return self.functions.is_local(node)
        body = self.functions.body(node, self.scope, lambda: [*map(self.types.of, given)])
        if body is None:
            return self.compute(node, given)
        require_no_cycle(body.name, self.scope.chain)
        outer, caller = self.values, self.place(node)
        inside = Names({}, self.constant)
        inside.update(zip(body.inputs, [*given, *[None] * len(body.inputs)], strict=False))
        chain = (*self.scope.chain, body.name)
        with self.entered(inside, Scope(body.versions, caller, chain)):
            self.inside(in_order(body.nodes, body.inputs, body.name))
            read = zip(body.outputs, self.results(node), strict=False)
            results = [None if result is None else self.values[name] for name, result in read]
        self.values = outer
        self.bind(node, results)
        return True

    def compute(self, node: NodeProto, given: Sequence[Any]) -> bool:
        """Let onnx compute a node now, if its operands are known and its results are small."""
        results = computed(self.host_node(node, given))
        if results is None:
            return False
        self.bind(node, [*map(self.held_value, results)])
        self.uses.append(Use(title(node), self.place(node)))
        return True

    def converter(self, node: NodeProto) -> Callable[..., Any]:
        found = super().converter(node)
        given = [self.values[name] for name in node.input if name]
        is_taken = found in TAKES_HOST_VALUES and not any(map(is_open_list, given))
        if not is_taken and any(is_on_host(each) or is_text(each) for each in given):
            raise NotYet("strings, maps and lists of unknown length are on the host only")
        return found

    def leave(self, node: NodeProto) -> HostCall | HostFunction | None:
        given = [self.values[name] if name else None for name in node.input]
        call = host_call(self.host_node(node, given))
        for each in call.gives if isinstance(call, HostCall) else ():
            self.limits.require_shape(() if each is None else each.shape)
        return call

    def bind(self, node: NodeProto, values: Sequence[Any]) -> None:
        super().bind(node, [*map(as_number, values)])

    def host_node(self, node: NodeProto, given: Sequence[Any]) -> HostNode:
        """A node as onnx's reference evaluator runs it."""
        versions = dict(self.scope.versions)
        return HostNode(node, versions, given, self.types, self.limits, self.device)

    def host_function(
        self, node: NodeProto, function: HostFunction, is_fallback: bool
    ) -> Sequence[Any]:
        """Let the host do a part of what a node computes; a fallback is named as any other."""
        if is_fallback:
            name = f"{function.name} of {title(node)}"
            self.uses.append(Use(name, self.place(node), "strings are on the host only"))
        return self.fallback.add(function)

    def visit(self, node: NodeProto) -> None:
        read = tuple(bool(name) for name in node.output)
        _, version = self.key(node)
        on_host = partial(self.host_function, node)
        with standing(Here(self.device, version, len(read), read, on_host)), naming_node(node):
            require_own_attributes(node)
            super().visit(node)

    def agreed(self, node: NodeProto, found: Sequence[Any]) -> Sequence[Any]:
        for each in found:
            if isinstance(each, Tensor):
                self.limits.require_shape(each.shape)
        return found

    # ---- values ---------------------------------------------------------------------------------

    def names(self, graph: GraphProto, outer: Names | None = None) -> Names:
        """The names of a graph whose initialisers become constants when they are read."""
        held: dict[str, Held] = {each.name: each for each in graph.initializer}
        held |= {each.values.name: each for each in graph.sparse_initializer}
        return Names(held, self.constant, outer)

    def constant(self, tensor: Held) -> Any:
        """A tensor whose values are there, in the file's memory; strings stay numpy's."""
        if isinstance(tensor, SparseTensorProto):
            array = dense_array(tensor, self.source.folder, self.limits)
            return self.held(array, tensor.values.name)
        return self.held(array_of(tensor, self.source.folder, self.limits), tensor.name)

    def held(self, array: np.ndarray[Any, Any], name: str = "") -> Any:
        """An array as a constant; strings stay numpy's."""
        if array.dtype == object:
            return array
        number = one_number(array)
        if number is not None:
            kind = dtype(array.dtype)
            return ops.full(array.shape, number, kind, device=self.device)
        return Tensor(TensorType(dtype(array.dtype), array.shape), self.device, array, name=name)

    def held_value(self, value: Any) -> Any:
        """A value that was computed while importing: arrays are constants, also in lists."""
        if isinstance(value, list):
            return [self.held_value(each) for each in value]
        is_array = isinstance(value, np.ndarray | np.generic)
        return self.held(as_constant(np.asarray(value))) if is_array else value

    def type(self, of: TypeProto) -> Any:
        """A type that an attribute names."""
        return typed("", of, self.limits)

    @contextmanager
    def entered(self, names: Names, scope: Scope | None = None) -> Iterator[None]:
        """In this block names are looked up and bound in `names`."""
        before = self.values, self.scope
        self.values, self.scope = names, scope or self.scope
        try:
            yield
        finally:
            self.values, self.scope = before

    def inline(self, graph: GraphProto, given: Sequence[Any], outer: Names) -> tuple[Any, ...]:
        """The results of a sub-graph for values of its inputs, its nodes taken into the graph."""
        names = self.names(graph, outer)
        inputs = [each.name for each in graph.input]
        names.update(zip(inputs, given, strict=False))
        with self.entered(names):
            self.walk(in_order(graph.node, inputs, graph.name))
            return tuple(self.values[each.name] for each in graph.output)


def is_open_list(value: Any) -> bool:
    """Whether a value is a list whose length only a call tells."""
    return isinstance(value, HostValue) and value.type.HasField("sequence_type")


def is_text(value: Any) -> bool:
    """Whether a value, or one in a list, is strings that are known while importing."""
    return any(isinstance(each, np.ndarray) for each in flat([value]))


def as_constant(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """An array as constants are kept: strings as objects."""
    return array.astype(object) if array.dtype.kind in "US" else array


def require_no_cycle(name: str, chain: Iterable[str]) -> None:
    """Raise BadArgument if a function that is being expanded is called again."""
    if name in chain:
        calls = " -> ".join([*chain, name])
        raise BadArgument(f"the function {name} calls itself: {calls}")
