"""`hidet_onnx.compile`: a model that is called with arrays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hidet.build.compiled import CompiledGraph, Profile
from hidet.build.orders import IN_ROWS, Orders
from hidet.errors import BadArgument, NeedsValue
from hidet.errors.warning import pass_over
from hidet.frontend.model import Model
from hidet.frontend.running.fallback import is_of_host, on_device
from hidet.frontend.running.host_values import HostValue
from hidet.frontend.running.stages import StagedModel
from hidet.frontend.running.variants import Variants
from hidet.graph import FlowGraph, Tensor
from hidet_onnx.importing.forms import ABSENT, DECLARED, Form, Open, form_of, leaves, texts
from hidet_onnx.importing.imported import Imported, Output, import_model, inputs_of, outputs_of
from hidet_onnx.reading.load import Given, Source, load
from hidet_onnx.reading.soundness import require_sound
from hidet_onnx.settings import Settings, settings_for

pass_over(f"{Path(__file__).parent}{os.sep}")  # warnings name the user's line


def compile(
    model: Given, *, device: str | None = None, options: Mapping[str, Any] | None = None
) -> CompiledModel:
    """Compile an ONNX model: a path, its bytes or a ModelProto.

    The result is called with numpy arrays, or tensors of any library, by position or by name.
    `options` are those of `hidet.options` and `fallback`: "warn" or "error". A model whose shapes
    depend on the values of inputs, or that has inputs of unknown rank, is compiled at its first
    call.
    """
    return CompiledModel(load(model), device or "cpu", settings_for(options or {}))


def from_onnx(model: Given, *, device: str | None = None) -> FlowGraph:
    """The model as a graph of operators, which is not compiled."""
    compiled = CompiledModel(load(model), device or "cpu", Settings(), lazy=True)
    imported = compiled.imported(compiled.declared_forms())
    return imported.model(compiled.device, {}).single_graph


@dataclass(frozen=True)
class Variant:
    """The model imported for inputs of some forms; `model` is what runs."""

    forms: tuple[Form, ...]
    imported: Imported
    model: Model

    @cached_property
    def in_order(self) -> list[int] | None:
        """Which result of the graph each of the model's is, if they are nothing else."""
        every = self.imported.outputs
        found = [each.number for each in every if isinstance(each, Output)]
        return found if len(found) == len(every) else None

    def __call__(self, given: Sequence[Any]) -> list[Any]:
        """The results of the model."""
        imported, compiled = self.imported, self.model.compiled
        values: Mapping[Any, Any] = {}
        if isinstance(compiled, StagedModel):
            held = map(as_held, self.leaves(given))
            values = compiled.run(dict(zip(imported.inputs, held, strict=True)))
            made = [values[each] for each in imported.graph.results]
        else:
            made = compiled.run(self.flat(given))
        if self.in_order is not None:
            return [made[number] for number in self.in_order]
        return [taken(each, made, values) for each in imported.outputs]

    def flat(self, given: Sequence[Any]) -> list[Any]:
        """What the graph takes of a call's values, where it runs."""
        leaves = self.leaves(given)
        device = self.model.device
        return leaves if device == "cpu" else [on_device(leaf, device) for leaf in leaves]

    @cached_property
    def takes_all(self) -> bool:
        """Whether the graph takes the values of a call as they are: tensors that are all there."""
        return all(isinstance(form, Open) for form in self.forms)

    def leaves(self, given: Sequence[Any]) -> list[Any]:
        """A call's values, those of lists one by one."""
        if self.takes_all:
            return [*given]
        pairs = zip(self.forms, given, strict=True)
        return [leaf for form, value in pairs for leaf in leaves(form, value)]


class CompiledModel:
    """A compiled model: `model(*arrays)` gives an array, or a list of several results."""

    def __init__(self, source: Source, device: str, settings: Settings, lazy: bool = False) -> None:
        self.source, self.device, self.settings = source, device, settings
        require_sound(source.model, settings.limits)
        self.arguments = tuple(inputs_of(source, settings.limits))
        self.inputs = tuple(each for each in self.arguments if not each.has_default)
        """The inputs that a call has to give, in order: name, element type and sizes of each."""
        self.outputs = tuple(outputs_of(source, settings.limits))
        """The results, as the file declares them."""
        self.is_plain = all(each.is_plain and not each.has_default for each in self.arguments)
        """Whether the file declares all inputs, none of which may be left out."""
        self.static: set[str] = set()
        """The inputs whose values decide about shapes: there is a compiled form for each."""
        self.variants = Variants(self.variant, lambda: ", ".join(sorted(self.static)) or "inputs")
        forms = self.declared_forms()
        if not lazy and self.is_declared(forms):
            self.ahead(forms)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """The model's results for these inputs: numpy arrays if it is given numpy arrays."""
        results = self.run(inputs, named)
        return results[0] if len(results) == 1 else results

    def run(self, inputs: Sequence[Any] = (), named: Mapping[str, Any] | None = None) -> list[Any]:
        """All results, in the model's order."""
        given = self.ordered(inputs, named or {})
        with self.settings.in_force():
            variant = self.variant_for(given)
            results = variant(given)
        return [*map(on_host, results)] if is_of_host(given) else results

    def __repr__(self) -> str:
        given, found = (", ".join(map(str, each)) for each in (self.inputs, self.outputs))
        return f"CompiledModel({given} -> {found}, device={self.device!r})"

    # ---- forms ----------------------------------------------------------------------------------

    def declared_forms(self) -> tuple[Form, ...]:
        """The forms of the inputs if calls give what the file declares, and no more is asked."""
        return tuple(ABSENT if each.has_default else DECLARED for each in self.arguments)

    def is_declared(self, forms: Sequence[Form]) -> bool:
        """Whether the file says enough of every input to compile before a call."""
        return not self.static and all(
            form is ABSENT or each.is_plain
            for each, form in zip(self.arguments, forms, strict=True)
        )

    def ahead(self, forms: tuple[Form, ...]) -> None:
        """Compile before the first call, if no values are needed for it."""
        with self.settings.in_force():
            try:
                _ = self.variants(forms).model.compiled
            except NeedsValue as error:
                self.ask(error)

    def variant_for(self, given: Sequence[Any]) -> Variant:
        """The compiled form for a call's values; values that are needed become part of it."""
        while True:
            pairs = zip(self.arguments, given, strict=True)
            try:
                if self.is_plain and not self.static and not any(each is None for each in given):
                    return self.as_declared
                forms = tuple(form_of(each, value, self.static) for each, value in pairs)
                return self.variants(forms)
            except NeedsValue as error:
                self.ask(error)

    @cached_property
    def as_declared(self) -> Variant:
        """The compiled form for all calls, where these give what the file declares."""
        return self.variants(self.declared_forms())

    def ask(self, error: NeedsValue) -> None:
        """From now on the inputs that an error names are read at each call."""
        inputs = [each for each in error.inputs if isinstance(each, Tensor)]
        names = {each.name.partition("[")[0] for each in inputs} - self.static
        if not names:
            raise error
        self.static |= names

    def imported(self, forms: Sequence[Form]) -> Imported:
        """The model's graph for inputs of these forms."""
        inputs = dict(zip(self.arguments, forms, strict=True))
        return import_model(self.source, self.device, self.settings.limits, inputs)

    def variant(self, forms: tuple[Form, ...]) -> Variant:
        """The model compiled for inputs of these forms; what stays outside is said."""
        imported = self.imported(forms)
        model = imported.model(self.device, self.settings.core)
        model.tell(self.settings.fallback, "onnx's reference evaluator")
        return Variant(forms, imported, model)

    # ---- calls ----------------------------------------------------------------------------------

    def ordered(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The inputs in the model's order; None for one that has a default."""
        if not named and len(inputs) == len(self.arguments) == len(self.inputs):
            return [*inputs]
        names = [each.name for each in self.inputs]
        if len(inputs) > len(names):
            raise BadArgument(f"{len(inputs)} inputs for a model of {len(names)}")
        given = dict(zip(names, inputs, strict=False))
        every = [each.name for each in self.arguments]
        for name in named:
            if name not in every:
                raise BadArgument(f"there is no input {name!r}", help=f"there are {every}")
            if name in given:
                raise BadArgument(f"input {name!r} is given twice")
        given.update(named)
        optional = {each.name for each in self.arguments if each.has_default}
        missing = [name for name in every if name not in given and name not in optional]
        if missing:
            raise BadArgument(f"there is no value for {', '.join(missing)}")
        return [given.get(name) for name in every]

    # ---- what users look at ---------------------------------------------------------------------

    def latest(self) -> Variant:
        """The form of the latest call, or the one made before any."""
        if not self.variants.forms:
            raise BadArgument(
                "the model is compiled at its first call",
                help="call it before: what is compiled depends on "
                f"{', '.join(sorted(self.static)) or 'what the inputs are'}",
            )
        return next(reversed(self.variants.forms.values()))

    @property
    def graph(self) -> FlowGraph:
        """The graph of the form that ran last, or that was compiled before any call."""
        return self.latest().imported.graph

    @property
    def compiled(self) -> CompiledGraph:
        """The same form compiled: what runs, without the model's names for what it takes."""
        return self.latest().model.single

    def explain(self) -> str:
        """Which operators are compiled, which are not and why, and which share kernels."""
        return self.latest().model.explain()

    def profile(self, *inputs: Any, repeat: int = 20, **named: Any) -> Profile:
        """The microseconds of each kernel and host step of a call with these inputs.

        See `CompiledGraph.profile`.
        """
        given = self.ordered(inputs, named)
        with self.settings.in_force():
            variant = self.variant_for(given)
        return variant.model.profile(variant.flat(given), repeat)

    def correctness_report(self, *inputs: Any, float64: bool = False, **named: Any) -> Any:
        """How far each operator, and the whole, is from what it means, for these inputs: a Report.

        See `FlowGraph.correctness_report`.
        """
        given = self.ordered(inputs, named)
        with self.settings.in_force():
            variant = self.variant_for(given)
        return variant.model.correctness_report(variant.leaves(given), float64)

    def save(self, path: str | os.PathLike[str], *targets: str, orders: Orders = IN_ROWS) -> None:
        """Write the compiled model to a file, for `hidet.load` and `hidet run`, without onnx.

        It is compiled for its device, or for each of `targets` ("sm_90a", "cpu"). What onnx's
        reference evaluator runs needs hidet-onnx where the file is loaded; an error names what
        cannot be saved.
        A file reads inputs in rows. `orders` names those that lie otherwise, with their axes in
        memory, outermost first: `{"image": (0, 2, 3, 1)}` for channels last.
        """
        self.latest().model.save(path, *targets, orders=orders)


def as_held(value: Any) -> Any:
    """An input as graphs and the host take it: strings as ours."""
    is_text = isinstance(value, list | tuple | str) or (is_of_host(value) and is_strings(value))
    return texts(value) if is_text else value


def is_strings(value: Any) -> bool:
    """Whether numpy's elements are strings."""
    return not isinstance(value, Mapping) and np.asarray(value).dtype.kind in "OUS"


def taken(entry: Any, results: Sequence[Any], values: Mapping[Any, Any]) -> Any:
    """A result of the model out of the graph's, and of the values that only the host has."""
    if isinstance(entry, Output):
        return results[entry.number]
    if isinstance(entry, HostValue):
        return values[entry]
    return [taken(each, results, values) for each in entry] if isinstance(entry, list) else entry


def on_host(result: Any) -> Any:
    """A result of the model as numpy's, also in lists."""
    if isinstance(result, list):
        return [*map(on_host, result)]
    return result.cpu().numpy() if isinstance(result, Tensor) else result
