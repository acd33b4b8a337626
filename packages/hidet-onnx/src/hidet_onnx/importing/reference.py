"""Nodes that onnx's reference evaluator runs: what the compiler lacks, one node at a time.

It never sees functions or control flow: these are the importer's. Where the operands are known
while importing, the node is computed then and no step is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TypeProto, ValueInfoProto, helper, shape_inference
from onnx.reference import ReferenceEvaluator

from hidet.frontend.importing.limits import Limits
from hidet.frontend.running.execute import HostStep
from hidet.frontend.running.fallback import HostCall, numpy_step
from hidet.frontend.running.host_values import HostFunction, is_on_host
from hidet.graph import Tensor
from hidet.types import TensorType
from hidet_onnx.host import RANKS, TYPES, own
from hidet_onnx.importing.functions import schema_of
from hidet_onnx.importing.order import graphs_of
from hidet_onnx.importing.place import naming_node, title
from hidet_onnx.importing.protos import Types, array_known, tensor_known
from hidet_onnx.importing.versions import domain_of

SMALL = 2**24
"""The most bytes of results that are computed while importing."""


@dataclass(frozen=True)
class HostNode:
    """A node with the values of its operands, in an order set of these versions."""

    node: NodeProto
    versions: Mapping[str, int]
    given: Sequence[Any]
    types: Types
    limits: Limits
    device: str = "cpu"

    @property
    def key(self) -> tuple[str, str]:
        """The node's domain and operator."""
        return domain_of(self.node), self.node.op_type

    @property
    def is_possible(self) -> bool:
        """Whether the reference, or a function of our own, may run it."""
        if self.key in TYPES:
            return True
        if self.node.op_type == "Gradient" or any(True for _ in graphs_of(self.node)):
            return False
        return schema_of(self.node, self.versions.get(domain_of(self.node), 0)) is not None

    def evaluator(self) -> Callable[[Mapping[str, Any]], list[Any]]:
        """What computes the node's results from its operands by name."""
        return evaluator_of(model_of(self.node, self.versions))

    def inferred(self) -> list[TensorType | None]:
        """The types of the results that are tensors of numbers whose sizes are all told."""
        return [None if each is None else self.types.tensor(each) for each in self.declared_types()]

    def declared_types(self) -> list[TypeProto | None]:
        """The types of the results by onnx's inference, or by our own for an operator that it does
        not know; None for one that neither tells."""
        if self.key in TYPES:
            return [TYPES[self.key](*(self.types.of(v) for v in self.given if v is not None))]
        schema = schema_of(self.node, self.versions.get(domain_of(self.node), 0))
        pairs = [(n, v) for n, v in zip(self.node.input, self.given, strict=False) if n]
        data = {name: tensor_known(value) for name, value in pairs}
        imports = [helper.make_opsetid(*each) for each in self.versions.items()]
        try:
            found = shape_inference.infer_node_outputs(
                schema,
                self.node,
                {name: self.types.of(value) for name, value in pairs},
                {name: value for name, value in data.items() if value is not None},
                opset_imports=imports,
            )
        except Exception:  # of onnx's own, by operator; the node is then one that nobody can run
            return [None for _ in self.node.output]
        rank = RANKS.get(self.key)
        return [ranked(found.get(name), rank) for name in self.node.output]


def ranked(given: TypeProto | None, rank: int | None) -> TypeProto | None:
    """The type of a tensor, of so many axes if it does not say how many."""
    if given is None or rank is None or given.tensor_type.HasField("shape"):
        return given
    return helper.make_tensor_type_proto(given.tensor_type.elem_type, [None] * rank)


def evaluator_of(model: ModelProto) -> Callable[[Mapping[str, Any]], list[Any]]:
    """What computes a model of one node from its operands by name: a function of our own, or
    onnx's reference."""
    (node,) = model.graph.node
    function = own((domain_of(node), node.op_type))
    named = {each.name: plain(helper.get_attribute_value(each)) for each in node.attribute}
    reference = None if function is not None else ReferenceEvaluator(model)

    def run(feeds: Mapping[str, Any]) -> list[Any]:
        with naming_node(node, "run"):
            if function is not None:
                return [function(*(feeds[n] for n in node.input if n), **named)]
            assert reference is not None
            results: list[Any] = reference.run(None, dict(feeds))
            return results

    return run


def plain(value: Any) -> Any:
    """An attribute with its strings as such."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return [*map(plain, value)] if isinstance(value, list) else value


def model_of(node: NodeProto, versions: Mapping[str, int]) -> ModelProto:
    """A model of one node."""
    names = [name for name in dict.fromkeys(node.input) if name]
    inputs = [ValueInfoProto(name=name) for name in names]
    outputs = [ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], node.op_type, inputs, outputs)
    imports = [helper.make_opsetid(*each) for each in versions.items()]
    return helper.make_model(graph, opset_imports=imports)


def computed(host: HostNode) -> list[Any] | None:
    """The results of a node whose operands are known; None if they are not, or are not small."""
    known = {n: python_of(v) for n, v in zip(host.node.input, host.given, strict=False) if n}
    if not host.is_possible or any(each is None for each in known.values()):
        return None
    types = host.inferred()
    is_small = all(each is not None and nbytes(each) <= SMALL for each in types)
    if not is_small and not works_on_text(known):
        return None
    made = iter(host.evaluator()(known))
    return [next(made) if name else None for name in host.node.output]


def works_on_text(known: Mapping[str, Any]) -> bool:
    """Whether results are no larger than the strings and lists they are made of."""
    return any(isinstance(v, list) or v.dtype.kind in "OUS" for v in known.values())


def python_of(value: Any) -> Any:
    """A value that is known while importing as the reference takes it; None if it is not."""
    if isinstance(value, list):
        items = [python_of(each) for each in value]
        return None if any(each is None for each in items) else items
    return array_known(value)


def nbytes(of: TensorType) -> int:
    """The bytes of a tensor; far too many, where they are not known."""
    count = 1
    for size in of.shape:
        count *= size if isinstance(size, int) else SMALL + 1
    return count * of.dtype.nbytes


def host_call(host: HostNode) -> HostCall | HostFunction | None:
    """What runs a node when the model runs; None if nothing can.

    It is a step of the graph where all it reads and gives are tensors of known sizes, else a
    function between graphs.
    """
    if not host.is_possible:
        return None
    named = zip(host.inferred(), host.node.output, strict=True)
    gives = tuple(each if name else None for each, name in named)
    is_known = all(each for each, name in zip(gives, host.node.output, strict=True) if name)
    if not is_known or any(map(is_on_host, host.given)):
        return host_function(host)
    pairs = [(n, v) for n, v in zip(host.node.input, host.given, strict=False) if n]
    tensors = {name: value for name, value in pairs if isinstance(value, Tensor)}
    others = {n: python_of(v) for n, v in pairs if not isinstance(v, Tensor)}
    if any(each is None for each in others.values()):
        return None
    name, run = title(host.node), host.evaluator()

    def compute(*arrays: np.ndarray[Any, Any]) -> Sequence[np.ndarray[Any, Any]]:
        return run({**others, **dict(zip(tensors, arrays, strict=True))})

    step = numpy_step(compute)
    model = model_of(host.node, host.versions)
    payload = None if others else model.SerializeToString()
    return HostCall(name, tuple(tensors.values()), gives, step, payload)


def host_function(host: HostNode) -> HostFunction | None:
    """A node that runs between graphs; None if onnx does not tell the ranks of its results."""
    results = []
    for name, found in zip(host.node.output, host.declared_types(), strict=True):
        result = None if not name or found is None else host.types.result(found, name, host.device)
        if name and result is None:
            return None
        results.append(result)
    pairs = [(n, v) for n, v in zip(host.node.input, host.given, strict=False) if n]
    names, compute = [name for name, _ in pairs], host.evaluator()

    def run(*values: Any) -> Sequence[Any]:
        made = iter(compute(dict(zip(names, values, strict=True))))
        return [next(made) if name else None for name in host.node.output]

    return HostFunction(title(host.node), run, tuple(v for _, v in pairs), tuple(results))


def steps(host: Mapping[str, bytes]) -> Mapping[str, HostStep]:
    """The host steps of a file, from the models of one node that it keeps."""
    return {key: step_of(ModelProto.FromString(payload)) for key, payload in host.items()}


def step_of(model: ModelProto) -> HostStep:
    """A step that runs a model of one node."""
    run, names = evaluator_of(model), [each.name for each in model.graph.input]
    return numpy_step(lambda *arrays: run(dict(zip(names, arrays, strict=True))))
