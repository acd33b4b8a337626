"""Nodes that onnx's reference evaluator runs: what the compiler lacks, one node at a time.

It never sees functions or control flow: these are the importer's. Where the operands are known
while importing, the node is computed then and no step is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, shape_inference
from onnx.reference import ReferenceEvaluator

from hidet.frontend.execute import HostStep
from hidet.frontend.limits import Limits
from hidet.frontend.staying import HostCall, numpy_step
from hidet.graph import Tensor
from hidet.types import TensorType
from hidet_onnx.importing.functions import schema_of
from hidet_onnx.importing.order import graphs_of
from hidet_onnx.importing.place import title, told
from hidet_onnx.importing.protos import Types, array_known, tensor_known
from hidet_onnx.importing.versions import domain_of

REFUSED = {"RegexFullMatch", "StringNormalizer", "Gradient"}
"""What the reference does by patterns that may take for ever, by changing the process's locale, or
not at all."""

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

    @property
    def is_possible(self) -> bool:
        """Whether the reference may run it."""
        if self.node.op_type in REFUSED or any(True for _ in graphs_of(self.node)):
            return False
        return schema_of(self.node, self.versions.get(domain_of(self.node), 0)) is not None

    def evaluator(self) -> Callable[[Mapping[str, Any]], list[Any]]:
        """What computes the node's results from its operands by name."""
        return evaluator_of(model_of(self.node, self.versions))

    def inferred(self) -> list[TensorType | None]:
        """The types of the results by onnx's inference; None for one that it does not tell."""
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
        names = [*self.node.output]
        return [self.types.tensor(found[n]) if n in found else None for n in names]


def model_of(node: NodeProto, versions: Mapping[str, int]) -> ModelProto:
    """A model of one node."""
    names = [name for name in dict.fromkeys(node.input) if name]
    inputs = [ValueInfoProto(name=name) for name in names]
    outputs = [ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], node.op_type, inputs, outputs)
    imports = [helper.make_opsetid(*each) for each in versions.items()]
    return helper.make_model(graph, opset_imports=imports)


def evaluator_of(model: ModelProto) -> Callable[[Mapping[str, Any]], list[Any]]:
    """What runs a model of one node on its operands by name."""
    found = ReferenceEvaluator(model)

    def run(feeds: Mapping[str, Any]) -> list[Any]:
        with told(model.graph.node[0], "run"):
            results: list[Any] = found.run(None, dict(feeds))
        return results

    return run


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


def host_call(host: HostNode) -> HostCall | None:
    """A step that runs a node when the model runs; None if it cannot be one."""
    if not host.is_possible:
        return None
    named = zip(host.inferred(), host.node.output, strict=True)
    gives = tuple(each if name else None for each, name in named)
    if any(name and each is None for each, name in zip(gives, host.node.output, strict=True)):
        return None
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


def steps(host: Mapping[str, bytes]) -> Mapping[str, HostStep]:
    """The host steps of a file, from the models of one node that it keeps."""
    return {key: step_of(ModelProto.FromString(payload)) for key, payload in host.items()}


def step_of(model: ModelProto) -> HostStep:
    """A step that runs a model of one node."""
    run, names = evaluator_of(model), [each.name for each in model.graph.input]
    return numpy_step(lambda *arrays: run(dict(zip(names, arrays, strict=True))))
