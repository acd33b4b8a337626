"""Arrays that stay on a device between calls, bound to a model's inputs by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from hidet.errors import BadArgument
from hidet.frontend.running.fallback import on_device
from hidet.graph import Tensor, asarray
from hidet_onnx.model import CompiledModel


class IOBinding:
    """The inputs of a session, and after a run its results, where the model runs.

    ONNX Runtime's methods of these names take its own values; here a value is a tensor of any
    library on the model's device, such as the result of another run.
    """

    def __init__(self, model: CompiledModel) -> None:
        self.model = model
        self.inputs: dict[str, Any] = {}
        self.outputs: list[str] = []
        self.results: dict[str, Any] = {}

    def bind_cpu_input(self, name: str, array: Any) -> None:
        """Copy an array of the host to the model's device, for the input of this name."""
        self.inputs[name] = on_device(asarray(array), self.model.device)

    def bind_ortvalue_input(self, name: str, value: Any) -> None:
        """Take a tensor where it lies, for the input of this name."""
        self.inputs[name] = value

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0) -> None:
        """Ask for a result; those of no name are all of them. It stays where the model runs."""
        names = [each.name for each in self.model.outputs]
        if name not in names:
            raise BadArgument(f"there is no result {name!r}", help=f"there are {names}")
        self.outputs.append(name)

    def clear_binding_inputs(self) -> None:
        """Let go of the inputs."""
        self.inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Let go of the results."""
        self.outputs.clear()
        self.results.clear()

    def run(self) -> None:
        """Call the model."""
        results = self.model.run(named=self.inputs)
        self.results = dict(zip((each.name for each in self.model.outputs), results, strict=True))

    def get_outputs(self) -> list[Any]:
        """The results asked for, on the model's device; they are exchanged by DLPack."""
        return [self.results[name] for name in self.outputs or self.results]

    def copy_outputs_to_cpu(self) -> list[np.ndarray[Any, Any]]:
        """The results asked for as numpy arrays."""
        return [
            each.cpu().numpy() if isinstance(each, Tensor) else np.asarray(each)
            for each in self.get_outputs()
        ]
