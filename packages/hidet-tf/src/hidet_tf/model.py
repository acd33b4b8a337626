"""`hidet_tf.compile`: a model that is called with tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import tensorflow as tf

from hidet.build.compiled import CompiledGraph
from hidet.errors.warning import warn
from hidet.frontend.report import require_complete, warning
from hidet.frontend.saved import build_model
from hidet.graph import FlowGraph
from hidet.options import options as core_options
from hidet_tf.capture import captured
from hidet_tf.importing.imported import Imported, import_function
from hidet_tf.settings import Settings, settings_for


def compile(
    model: Any, *specs: Any, device: str | None = None, options: Mapping[str, Any] | None = None
) -> Compiled:
    """Compile a Keras model, a tf.function, a ConcreteFunction, or a function with `specs`.

    The result is called as the model is, and gives what it gives. `options` are those of
    `hidet.options` and `fallback`: "warn" or "error".
    """
    return Compiled(model, captured(model, specs), device or "cpu", settings_for(options or {}))


class Compiled:
    """A compiled model: `model(*tensors)` gives the results in the structure of the original."""

    def __init__(self, original: Any, concrete: Any, device: str, settings: Settings) -> None:
        self.original, self.concrete = original, concrete
        self.device, self.settings = device, settings
        self.imported = self.traced()

    def traced(self) -> Imported:
        """The function's graph; what stays outside is said."""
        with core_options(**self.settings.core):
            imported = import_function(self.concrete, self.device)
        if not imported.coverage.is_complete:
            if self.settings.fallback == "error":
                require_complete(imported.coverage)
            warn(warning(imported.coverage, "TensorFlow"))
        return imported

    @property
    def graph(self) -> FlowGraph:
        """The graph that was imported."""
        return self.imported.graph

    @cached_property
    def compiled(self) -> CompiledGraph:
        """What runs."""
        with core_options(**self.settings.core):
            return build_model(self.imported.graph, self.imported.calls, "tf")

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """The model's results for these inputs."""
        kind = self.concrete.function_type
        results = self.run(kind.unpack_inputs(kind.bind(*inputs, **named)))
        return kind.pack_output([tf.constant(each) for each in results])

    def run(self, flat: Sequence[Any]) -> list[np.ndarray[Any, Any]]:
        """The flat results for flat arguments."""
        given = [np.asarray(flat[position]) for position in self.imported.taken]
        with core_options(**self.settings.core):
            made = self.compiled.run(given)
        return [made[number].numpy() for number in self.imported.outputs]
