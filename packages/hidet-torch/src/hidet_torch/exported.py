"""`hidet_torch.compile`: a model through torch.export, called without Dynamo's guards."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NoReturn

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils._pytree import TreeSpec, tree_flatten, tree_leaves, tree_unflatten

from hidet.errors import BadArgument, ShapeMismatch, UnsupportedOp
from hidet.frontend.importing.coverage import Coverage
from hidet.frontend.importing.report import require_complete
from hidet.frontend.running.execute import Profile, at_work
from hidet.graph import FlowGraph
from hidet_torch.calling.accepted import Accepted
from hidet_torch.calling.copies import Copies
from hidet_torch.calling.fixed import Quick
from hidet_torch.calling.forward import Forward, ProgramCall, separated, spelled
from hidet_torch.calling.input_check import Alike, like, unlike
from hidet_torch.calling.run import CompiledCall
from hidet_torch.calling.uncompiled import EagerCall
from hidet_torch.capture.capture import compile_inference
from hidet_torch.capture.decompositions import decomposed
from hidet_torch.capture.not_exported import explained
from hidet_torch.importing.in_place import COPY
from hidet_torch.module_methods import ModuleMethods
from hidet_torch.reports.saving import NO_FILE, orders_of, standalone
from hidet_torch.settings import Settings, settings_for
from hidet_torch.weights.named import Named
from hidet_torch.weights.overlaps import require_apart
from hidet_torch.weights.weight import Outgrown


def compile(
    model: torch.nn.Module | ExportedProgram,
    *inputs: Any,
    dynamic_shapes: Any = None,
    mode: str | None = None,
    **options: Any,
) -> CompiledModel:
    """Compile a model for inputs like these; the result is called as the model is, without guards.

    Inputs may be given by the names that `forward` has for them, unless these are options' names;
    other keywords are options.
    Sizes are fixed unless `dynamic_shapes`, as torch.export takes it, says otherwise. Weights that
    are written to or replaced are seen; weights of other types or shapes compile the model again.

    A `torch.export.ExportedProgram` is compiled as it is: it needs no inputs and has its own sizes.
    """
    program = model if isinstance(model, ExportedProgram) else None
    module = model.module(check_guards=False) if isinstance(model, ExportedProgram) else model
    if program is not None and dynamic_shapes is not None:
        raise BadArgument(
            "an exported program has the dynamic sizes that it was exported with",
            help="give dynamic_shapes to torch.export.export",
        )
    named, others = separated(module, options)
    settings = settings_for(mode, others)
    return CompiledModel(module, inputs, named, dynamic_shapes, settings, program)


class Held:
    """What an exported program holds itself: weights by placeholder, and those it writes to."""

    def __init__(self, program: ExportedProgram, tensors: Mapping[str, torch.Tensor]) -> None:
        signature = program.graph_signature
        written = set(signature.buffers_to_mutate.values())
        self.frozen: dict[torch.fx.Node, torch.Tensor] = {}
        self.given: list[torch.Tensor | None] = []
        nodes = program.graph_module.graph.find_nodes(op="placeholder")
        for node, spec in zip(nodes, signature.input_specs, strict=True):
            value: Any = None
            if spec.kind is not InputKind.USER_INPUT:
                value = tensors.get(spec.target, program.state_dict.get(spec.target))
                value = program.constants.get(spec.target) if value is None else value
                if spec.target not in written and isinstance(value, torch.Tensor):
                    self.frozen[node] = value
            self.given.append(value)
        self.is_input = [spec.kind is InputKind.USER_INPUT for spec in signature.input_specs]


class CompiledModel(ModuleMethods):
    """A compiled model: called as the model is, with inputs of the shapes it was compiled for."""

    def __init__(
        self,
        model: torch.nn.Module,
        inputs: tuple[Any, ...],
        named: dict[str, Any],
        dynamic_shapes: Any,
        settings: Settings,
        program: ExportedProgram | None = None,
    ) -> None:
        self.module, self.program = model, program
        self.named, self.signature = Named(model), Forward(model)
        self.dynamic_shapes, self.settings = dynamic_shapes, settings
        if program is not None:
            self.signature = ProgramCall(model, program.call_spec.in_spec)
        inputs, named = self.signature.placed(inputs, named)
        self.capture(inputs, named)
        if program is not None and (inputs or named):
            self.looked_at(inputs, named)

    def exported(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> ExportedProgram:
        """The model as it is now, for inputs like these; or the program that was given."""
        if self.program is not None:
            return self.given_program()
        self.training = self.module.training
        try:
            return torch.export.export(
                self.module, inputs, named, dynamic_shapes=self.dynamic_shapes, strict=False
            )
        except Exception as error:
            if isinstance(error, TypeError):
                self.signature.require(inputs, named)
            known = explained(error)
            if known is error:
                raise
            raise known from None

    def given_program(self) -> ExportedProgram:
        """The program, whose operators are for the weights that it was exported with."""
        assert self.program is not None
        if hasattr(self, "run"):
            raise BadArgument(
                "the weights of an exported program have other names, types or shapes now",
                help="export the model again, and compile that",
            )
        self.training = False  # it is in no mode: what it computes was decided by the export
        return self.program

    def capture(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Export the model as it is now and compile it."""
        name = type(self.named.model).__name__
        with torch.no_grad(), self.settings.in_force(), at_work(name, "tracing"):
            program = self.exported(inputs, named)
            with warnings.catch_warnings():
                # PyTorch 2.13 copies trees of its own in a way that it warns of itself.
                warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)
                program = taken_apart(program, inputs, named)
        self.named.look()
        held = Held(program, self.named.tensors)
        written = write_back(program)
        self.run: CompiledCall | EagerCall = compile_inference(
            program.graph_module, held.frozen, self.settings, name
        )
        self.given = held.given
        spec = program.call_spec
        self.in_spec = spec.in_spec
        self.places = [place for place, is_input in enumerate(held.is_input) if is_input]
        self.is_given_all = all(held.is_input)
        """Whether calls bring all that the graph reads."""
        self.accepted = Accepted(program, self.places)
        self.written = written.intersection(self.accepted.inputs)
        live = self.run.imported.inputs if isinstance(self.run, CompiledCall) else ()
        self.copies = Copies(live, self.places, self.accepted.inputs)
        tensors = tuple(object() for _ in self.places)
        self.takes_tensors = tree_flatten((tensors, {}))[1] == self.in_spec
        self.alike: Alike = unlike
        self.quick: Quick | None = None
        """The call of tensors that are `alike`, if it needs nothing but these."""
        self.packed = packing(spec.out_spec)

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """What the model gives for these inputs."""
        if named:
            inputs, named = self.signature.placed(inputs, named)
        if self.named.keys and not self.named.are_same():
            self.follow(inputs, named)
        known = not named and len(inputs) == len(self.places) and self.alike(*inputs)
        flat = inputs if known else self.looked_at(inputs, named)
        try:
            if known and self.quick is not None:
                found = self.quick(inputs)
                if found is not None:
                    return self.packed(found)
            return self.call(flat)
        except Outgrown:
            self.capture(inputs, named)
        return self.call(flat)

    def __repr__(self) -> str:
        return f"<compiled {type(self.named.model).__name__}, called as {spelled(self.in_spec)}>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """What copying and pickling ask for: kernels that are loaded are neither."""
        raise BadArgument(
            "a compiled model cannot be copied or pickled",
            help="compile a copy of the model; save(path) writes the compiled one to a file",
        )

    @property
    def coverage(self) -> Coverage:
        """What is compiled of the model, and what PyTorch runs and why; `explain` prints it."""
        run = self.run
        return run.imported.coverage if isinstance(run, CompiledCall) else run.coverage

    def graph(self) -> FlowGraph:
        """The model as it is now as a graph that needs no PyTorch.

        Its inputs and results are those of the model that are tensors, nests flattened, in rows.
        Raises for a model of which PyTorch runs a part, or which writes to what it is given.
        """
        require_complete(self.coverage, NO_FILE)
        assert isinstance(self.run, CompiledCall), "PyTorch runs other graphs"
        if not self.named.are_same() and not self.found_again():
            raise BadArgument("the model changed since it was compiled", help="call it once")
        self.run.weights.check()
        with torch.no_grad():
            return standalone(self.run.imported, self.given, self.accepted.size_limits)

    def save(self, path: str | os.PathLike[str], *targets: str) -> None:
        """Write the compiled model to a file, for `hidet.load` and `hidet run`, without PyTorch.

        It is compiled for the device of its weights, or for each of `targets` ("sm_90a", "cpu").
        It reads inputs that lie as the examples did, such as channels last, and copies others.
        """
        graph = self.graph()
        assert isinstance(self.run, CompiledCall), "PyTorch runs other graphs"
        orders = orders_of(self.run.imported, self.given)
        with self.settings.in_force():
            graph.build(*targets, orders=orders).save(path)

    def profile(self, *inputs: Any, repeat: int = 20, **named: Any) -> Profile:
        """The microseconds of each kernel in a call with these inputs, and of each part of the
        model that PyTorch runs: medians of `repeat` calls. See `hidet.CompiledGraph.profile`.

        The calls do what calls do: a model that writes to what it is given does so.
        """
        self(*inputs, **named)  # which reads weights that were replaced, or compiles again
        if not isinstance(self.run, CompiledCall):
            raise UnsupportedOp("PyTorch runs the whole model: there are no kernels to time")
        return self.run.runner.profile(lambda: self(*inputs, **named), repeat, self.run.stream())

    def call(self, flat: Sequence[Any]) -> Any:
        """What the model gives for the leaves of its inputs, which were looked at."""
        if self.written:
            named = zip(self.accepted.inputs, flat, strict=True)
            require_apart({n: t for n, t in named if isinstance(t, torch.Tensor)}, self.written)
        given: list[Any] = list(flat if self.is_given_all else self.given)
        if not self.is_given_all:
            for place, value in zip(self.places, flat, strict=True):
                given[place] = value
        try:
            results = self.run.run(given)
        except ShapeMismatch:
            whole = self.run.imported if isinstance(self.run, CompiledCall) else None
            self.accepted.explain(flat, () if whole is None else whole.graph.guards)
            raise
        return self.packed(results)

    def follow(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Read the tensors that the model has now, or compile again where it changed otherwise."""
        if not self.found_again():
            self.capture(inputs, named)

    def found_again(self) -> bool:
        """Read the tensors that the model has now; False if it changed otherwise."""
        others = self.named.replaced()
        if others is None:
            return False
        self.given = [others.get(id(each), each) for each in self.given]
        if isinstance(self.run, CompiledCall):
            self.run.weights.replace(others)
        self.named.look()
        return True

    def looked_at(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> Sequence[Any]:
        """The leaves of the inputs, if they are of the types and sizes compiled for."""
        flat = inputs if self.is_flat(inputs, named) else self.flattened(inputs, named)
        self.accepted.check(flat)
        self.copies.look(flat)
        if flat is inputs:
            self.alike = like(inputs)
            self.quick = None
            if isinstance(self.run, CompiledCall) and not self.written:
                self.quick = self.run.quick_for(self.places, inputs)
        return flat

    def is_flat(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> bool:
        """Whether the inputs are just tensors, as many as there should be."""
        plain = not named and self.takes_tensors and len(inputs) == len(self.places)
        return plain and all(isinstance(each, torch.Tensor) for each in inputs)

    def flattened(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """The leaves of the inputs, if they are nested as those compiled for."""
        flat, spec = tree_flatten((inputs, named))
        if spec != self.in_spec:
            if len(flat) < self.in_spec.num_leaves:
                self.signature.require(inputs, named)
            raise BadArgument(
                f"called as {spelled(spec)}, compiled for {spelled(self.in_spec)}",
                help="each * stands for an input; for calls of another form compile it once more",
            )
        return flat


def taken_apart(
    program: ExportedProgram, inputs: tuple[Any, ...], named: dict[str, Any]
) -> ExportedProgram:
    """The program in the operators that are compiled.

    BadArgument if it writes to one of two inputs in the same memory: PyTorch fails to say so.
    """
    try:
        return decomposed(program)
    except AssertionError:
        flat = zip(program.graph_signature.user_inputs, tree_leaves((inputs, named)), strict=True)
        tensors = {str(name): each for name, each in flat if isinstance(each, torch.Tensor)}
        require_apart(tensors, tensors)
        raise


def packing(spec: TreeSpec) -> Callable[[Sequence[Any]], Any]:
    """What makes a model's result of its leaves; the usual ones need no walk over a tree."""
    usual = (object(), itemgetter(0)), (tuple(object() for _ in range(spec.num_leaves)), tuple)
    for result, packed in usual:
        if tree_flatten(result)[1] == spec:
            return packed
    return lambda leaves: tree_unflatten(leaves, spec)


def write_back(program: ExportedProgram) -> set[str]:
    """Let the graph write what the program writes to, instead of returning it too.

    Gives the names of the placeholders that it writes to.
    """
    graph = program.graph_module.graph
    place: dict[Any, torch.fx.Node] = {}
    specs = program.graph_signature.input_specs
    for node, spec in zip(graph.find_nodes(op="placeholder"), specs, strict=True):
        place[spec.target] = place[getattr(spec.arg, "name", None)] = node
    (output,) = graph.find_nodes(op="output")
    results, written = [], set()
    for value, spec in zip(output.args[0], program.graph_signature.output_specs, strict=True):
        if spec.kind in (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION):
            target = place[spec.target]
            with graph.inserting_before(output):
                copy = graph.call_function(COPY, (target, value))
            copy.meta["val"] = target.meta["val"]
            written.add(target.name)
        elif spec.kind is OutputKind.USER_OUTPUT:
            results.append(value)
    output.args = (tuple(results),)
    program.graph_module.recompile()
    return written
