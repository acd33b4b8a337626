"""ONNX's backend interface, by which its test suite runs a compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from hidet_onnx.dtypes import code_of
from hidet_onnx.model import CompiledModel, compile
from hidet_onnx.session import is_there


class HidetRep(BackendRep):
    """A prepared model: `run` takes a list of inputs, or a mapping by name."""

    def __init__(self, model: CompiledModel) -> None:
        self.model = model

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The model's results, by position and by name."""
        results = self.model.run(**arguments(self.model, inputs))
        return namedtupledict("Outputs", [each.name for each in self.model.outputs])(*results)


def arguments(model: CompiledModel, inputs: Any) -> dict[str, Any]:
    """Inputs as `CompiledModel.run` takes them; more than the model needs are by position."""
    if isinstance(inputs, Mapping):
        return {"named": inputs}
    given = inputs if isinstance(inputs, list | tuple) else [inputs]
    if len(given) <= len(model.inputs):
        return {"inputs": given}
    names = [each.name for each in model.arguments]
    return {"named": dict(zip(names, given, strict=False))}


class HidetBackend(Backend):
    """Models compiled by hidet, for the CPU or a GPU."""

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> HidetRep:
        """Compile a model; keyword arguments are options of `hidet_onnx.compile`."""
        return HidetRep(compile(model, device=device.lower(), options=kwargs))

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """The results of one node."""
        given = inputs if isinstance(inputs, list | tuple) else [inputs]
        arrays = dict(zip(filter(None, node.input), map(np.asarray, given), strict=True))
        infos = [
            helper.make_tensor_value_info(name, code_of(each.dtype), each.shape)
            for name, each in arrays.items()
        ]
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = helper.make_graph([node], "node", infos, outputs)
        version = kwargs.pop("opset_version", None)
        imports = [] if version is None else [helper.make_opsetid(node.domain, version)]
        named = {"opset_imports": imports} if imports else {}
        return cls.prepare(helper.make_model(graph, **named), device, **kwargs).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models run on a device: "CPU", "CUDA" or "CUDA:1"."""
        return is_there(device.lower())


is_compatible = HidetBackend.is_compatible
prepare = HidetBackend.prepare
run = HidetBackend.run_model
run_model = HidetBackend.run_model
run_node = HidetBackend.run_node
supports_device = HidetBackend.supports_device
