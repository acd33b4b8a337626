"""`hidet_onnx.compile`: a model that is called with arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hidet.build.compiled import CompiledGraph
from hidet.errors import BadArgument
from hidet.frontend.limits import Limits
from hidet.graph import FlowGraph, Tensor
from hidet.options import options as core_options
from hidet_onnx.importing.imported import (
    Imported,
    Output,
    import_model,
    inputs_of,
    outputs_of,
)
from hidet_onnx.reading.load import Given, Source, load
from hidet_onnx.settings import Settings, settings_for


def compile(
    model: Given, *, device: str | None = None, options: Mapping[str, Any] | None = None
) -> CompiledModel:
    """Compile an ONNX model: a path, its bytes or a ModelProto.

    The result is called with numpy arrays, or tensors of any library, by position or by name.
    `options` are those of `hidet.options` and `fallback`: "warn" or "error".
    """
    return CompiledModel(load(model), device or "cpu", settings_for(options or {}))


def from_onnx(model: Given, *, device: str | None = None) -> FlowGraph:
    """The model as a graph of operators, which is not compiled."""
    return import_model(load(model), device or "cpu", Limits()).graph


class CompiledModel:
    """A compiled model: `model(*arrays)` gives an array, or a list of several results."""

    def __init__(self, source: Source, device: str, settings: Settings) -> None:
        self.source, self.device, self.settings = source, device, settings
        self.inputs = tuple(inputs_of(source, settings.limits))
        """The inputs, in order: name, element type and sizes of each."""
        self.outputs = tuple(outputs_of(source, settings.limits))
        """The results, as the file declares them."""
        with core_options(**settings.core):
            self.imported: Imported = import_model(source, device, settings.limits)
            self.compiled: CompiledGraph = self.imported.graph.build()

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """The model's results for these inputs: numpy arrays if it is given numpy arrays."""
        results = self.run(inputs, named)
        return results[0] if len(results) == 1 else results

    def run(self, inputs: Sequence[Any] = (), named: Mapping[str, Any] | None = None) -> list[Any]:
        """All results, in the model's order."""
        given = self.ordered(inputs, named or {})
        is_numpy = all(
            not hasattr(each, "__dlpack__") or isinstance(each, np.ndarray | np.generic)
            for each in given
        )
        with core_options(**self.settings.core):
            made = self.compiled.run([*map(packed, given)])
        results = [*map(to_numpy, made)] if is_numpy else made
        return [taken(each, results) for each in self.imported.outputs]

    def ordered(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The inputs in the model's order."""
        names = [each.name for each in self.inputs]
        if len(inputs) > len(names):
            raise BadArgument(f"{len(inputs)} inputs for a model of {len(names)}")
        given = dict(zip(names, inputs, strict=False))
        for name in named:
            if name not in names:
                raise BadArgument(f"there is no input {name!r}", help=f"there are {names}")
            if name in given:
                raise BadArgument(f"input {name!r} is given twice")
        given.update(named)
        missing = [name for name in names if name not in given]
        if missing:
            raise BadArgument(f"there is no value for {', '.join(missing)}")
        return [given[name] for name in names]

    def save(self, path: str | os.PathLike[str], *targets: str) -> None:
        """Write the compiled model to a file, for `hidet.load` and `hidet run`, without onnx.

        It is compiled for its device, or for each of `targets` ("sm_90a", "cpu").
        """
        with core_options(**self.settings.core):
            self.imported.graph.build(*targets).save(path)


def packed(value: Any) -> Any:
    """An input as the runtime takes it: numbers and strided arrays are copied."""
    if isinstance(value, np.ndarray | np.generic | int | float | bool | list):
        array = np.asarray(value)
        return array if array.flags.c_contiguous else np.ascontiguousarray(array)
    return value


def to_numpy(tensor: Tensor) -> np.ndarray[Any, Any]:
    """A result in the host's memory."""
    return tensor.cpu().numpy()


def taken(entry: Any, results: Sequence[Any]) -> Any:
    """A result of the model out of the graph's."""
    if isinstance(entry, Output):
        return results[entry.number]
    return [taken(each, results) for each in entry] if isinstance(entry, list) else entry
