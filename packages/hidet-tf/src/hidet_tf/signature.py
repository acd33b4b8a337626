"""One signature of a model, compiled: it is called as its ConcreteFunction, and gives the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from hidet.build.compiled import CompiledGraph
from hidet.build.orders import IN_ROWS, Orders
from hidet.errors.warning import pass_over
from hidet.frontend.model import Model
from hidet.frontend.running.fallback import on_device
from hidet.frontend.running.stages import StagedModel
from hidet.graph import Tensor
from hidet.options import options
from hidet_tf.effects import assigning, require_no_effects
from hidet_tf.importing.imported import Imported, import_function
from hidet_tf.settings import Settings
from hidet_tf.structures import Binder
from hidet_tf.tensors import result_of
from hidet_tf.variables import Weights, reader

pass_over(f"{Path(__file__).parent}{os.sep}")  # warnings name the user's line


class Signature:
    """A ConcreteFunction on a device; `imported` is its graph, `model` what runs."""

    def __init__(self, concrete: Any, device: str, settings: Settings) -> None:
        self.concrete, self.device, self.settings = concrete, device, settings
        self.bind = Binder(concrete)
        self.pack = packer(concrete)
        self.finish = as_numpy if settings.results == "numpy" else as_tensor
        with options(**settings.core):
            self.imported: Imported = import_function(
                concrete, device, settings.reading, asserts=settings.asserts == "kept"
            )
        self.model: Model = self.imported.model(settings.core)
        self.model.tell(settings.fallback, "TensorFlow")
        self.read = reader(self.imported.given)
        self.assign = assigning(self.imported.assigned)

    @cached_property
    def compiled(self) -> CompiledGraph:
        """What runs, if it is one graph."""
        return self.model.single

    def __call__(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """The results for the arguments of a call, in the structure of the original's."""
        return self.pack(self.run(self.bind(inputs, named)))

    @cached_property
    def run(self) -> Callable[[Sequence[Any]], list[Any]]:
        """What gives the flat results for flat arguments, as they are with the values that
        variables have now; those that the function assigns have others then."""
        compute, weights, assign = self.unwatched(), self.weights, self.assign
        read = self.read if self.imported.given else None
        if not weights and read is None and not self.imported.assigned:
            return compute

        def run(flat: Sequence[Any]) -> list[Any]:
            for each in weights:
                each.check()
            return assign(compute(flat if read is None else [*flat, *read()]))

        return run

    @cached_property
    def weights(self) -> list[Weights]:
        """The variables that each graph has as constants that change."""
        compiled = self.model.compiled
        graphs = compiled.compiled if isinstance(compiled, StagedModel) else [compiled]
        found = [Weights(each, self.imported.variables) for each in graphs if each is not None]
        return [each for each in found if each.sources]

    def unwatched(self) -> Callable[[Sequence[Any]], list[Any]]:
        """The same for the values that variables had when they were last looked at."""
        compiled, ends = self.model.compiled, (*self.imported.inputs, *self.imported.outputs)
        if isinstance(compiled, StagedModel) or not all(isinstance(e, int | Tensor) for e in ends):
            return self.run_staged
        numbers = [each for each in self.imported.outputs if isinstance(each, int)]
        finish, given = self.finish, self.given

        def run(flat: Sequence[Any]) -> list[Any]:
            made = compiled.run(given(flat))
            return [finish(made[number]) for number in numbers]

        return run

    def run_staged(self, flat: Sequence[Any]) -> list[Any]:
        """The same where TensorFlow has something to do between graphs."""
        imported, compiled = self.imported, self.model.compiled
        values: dict[Any, Any] = dict(zip(imported.inputs, flat, strict=True))
        if isinstance(compiled, StagedModel):
            values = {**compiled.run(values)}
        else:
            tensors = [v for key, v in values.items() if isinstance(key, Tensor)]
            values |= zip(imported.graph.outputs, compiled.run(self.given(tensors)), strict=False)
        graph = imported.graph.outputs

        def found(entry: Any) -> Any:
            if isinstance(entry, np.ndarray):  # text that the function holds
                return entry
            return values[graph[entry] if isinstance(entry, int) else entry]

        return [self.finish(found(each)) for each in imported.outputs]

    def arguments(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        """What the graph takes of a call, where it runs; weights are what they are now."""
        for each in self.weights:
            each.check()
        return self.given([*self.bind(inputs, named), *self.read()])

    def save(self, path: str | os.PathLike[str], *targets: str, orders: Orders = IN_ROWS) -> None:
        """Write what runs to a file, with the weights that there are now: see `Model.save`."""
        require_no_effects(self.imported.assigned)
        for each in self.weights:
            each.check()
        self.model.save(path, *targets, orders=orders)

    def given(self, flat: Sequence[Any]) -> Sequence[Any]:
        """What the graph takes of flat arguments, where it runs."""
        if self.device == "cpu":
            return flat
        return [on_device(as_host(each), self.device) for each in flat]


def packer(concrete: Any) -> Any:
    """What puts flat results into the structure of the function's."""
    outputs = concrete.structured_outputs
    is_single = hasattr(outputs, "op") and len(concrete.graph.outputs) == 1
    pack = concrete.function_type.pack_output
    return (lambda flat: flat[0]) if is_single else pack


def as_host(value: Any) -> Any:
    """A tensor of TensorFlow's in the host's memory as an array."""
    return np.asarray(value) if hasattr(value, "_numpy_internal") else value


def as_numpy(result: Any) -> np.ndarray[Any, Any]:
    """A result as an array."""
    return result.cpu().numpy() if isinstance(result, Tensor) else np.asarray(result)


def as_tensor(result: Any) -> Any:
    """A result as a tensor of TensorFlow's."""
    return result_of(result) if isinstance(result, Tensor) else tf.convert_to_tensor(result)
