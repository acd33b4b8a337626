"""From lowered parts to a launch plan: buffers are numbered, launches written down as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hidet.build.choosing.sizes import plan_size
from hidet.build.planning.kernels import Part, Recipes
from hidet.build.planning.noted import placed
from hidet.build.planning.places import NOWHERE, Positions
from hidet.build.stages.bodies import regions, updated
from hidet.build.stages.stages import Stage
from hidet.build.workers.units import Units
from hidet.codegen.cpu.loop_driver import loop_driver
from hidet.errors import InternalError
from hidet.fusion.group import Group, OutputView
from hidet.graph.flow import FlowGraph
from hidet.graph.foreign import Foreign
from hidet.graph.tensor import Tensor
from hidet.ir.expr import Expr, Var
from hidet.ir.walk import variables
from hidet.ops.flow.control import Loop
from hidet.optimize.pieces import pieces
from hidet.optimize.separate_outputs import memory
from hidet.runtime.plans.kernel_note import KernelNote
from hidet.runtime.plans.loop_driver import DRIVER
from hidet.runtime.plans.plan import (
    Branch,
    Buffer,
    Host,
    Launch,
    Piece,
    Plan,
    Repeat,
    Role,
    SizeBuffer,
    Step,
    Then,
)
from hidet.runtime.plans.sizes import Relation
from hidet.target import Target
from hidet.types import TensorType


@dataclass(frozen=True)
class Follows:
    """The plan after that of a stage: its name, and where in the results its own ones are."""

    part: str
    stage: Stage
    results: tuple[int, ...]


class Planner:
    """Writes the plan of one graph: of a `part` that is a body, at sizes that are `given`."""

    def __init__(
        self,
        graph: FlowGraph,
        target: Target,
        units: Units,
        names: Mapping[Tensor, str],
        part: str = "main",
        given: Sequence[str] | None = None,
    ) -> None:
        self.graph, self.target, self.units, self.names = graph, target, units, names
        self.part, self.given = part, tuple(given or ())
        self.buffers: list[Buffer] = []
        self.number: dict[Tensor, int] = {}
        self.steps: list[Step] = []
        self.groups: Sequence[Group] = ()
        self.follows: Follows | None = None
        self.notes: dict[str, KernelNote] = {}
        self.symbols = symbols_of(graph) if given is None else {}
        derived = set(names)
        for position, tensor in enumerate(graph.inputs):
            role: Role = "derived" if tensor in derived else "input"
            self.add(tensor, role, names.get(tensor, f"input{position}"))
        # An output may be another tensor under a new shape, which is then that of the buffer.
        self.outputs = {memory(each): (i, each.type) for i, each in enumerate(graph.outputs)}

    def again(self, units: Units) -> Planner:
        """One of the same that has written nothing yet."""
        given = None if self.symbols else self.given
        made = Planner(self.graph, self.target, units, self.names, self.part, given)
        made.follows = self.follows
        return made

    def add(self, tensor: Tensor, role: Role, name: str) -> int:
        """Number a tensor's memory."""
        self.number[tensor] = self.buffer(tensor.type, role, name)
        return self.number[tensor]

    def buffer(self, type: TensorType, role: Role, name: str) -> int:
        """A new buffer."""
        shape = tuple(plan_size(size) for size in type.shape)
        self.buffers.append(Buffer(name, role, type.dtype.name, shape))
        return len(self.buffers) - 1

    def find(self, tensor: Tensor) -> int:
        """The buffer in which a tensor lies."""
        root = memory(tensor)
        if root not in self.number:
            if root.storage is not None:
                return self.add(root, "weight", self.names[root])
            if root in self.outputs:
                position, type_ = self.outputs[root]
                self.number[root] = self.buffer(type_, "output", f"output{position}")
                self.note_pieces(root)
                return self.number[root]
            return self.add(root, "workspace", f"t{len(self.buffers)}")
        return self.number[root]

    def add_part(self, output_view: OutputView) -> None:
        """Number a part of a larger tensor, which one group alone writes."""
        assert output_view.whole is not None
        number = self.add(output_view.tensor, "part", f"p{len(self.buffers)}")
        self.buffers[number] = replace(self.buffers[number], within=self.find(output_view.whole))

    def note_pieces(self, output: Tensor) -> None:
        """Write down of which weights an output consists, if they are only moved."""
        found = pieces(output)
        if all(each.source in self.names for each in found):
            number = self.number[output]
            named = (Piece(self.names[p.source], p.offset, p.strides) for p in found)
            self.buffers[number] = replace(self.buffers[number], pieces=tuple(named))

    def compute(self, part: Part) -> None:
        """Write down the launches of a part."""
        recipe = part.recipe
        numbers = list(map(self.find, (*part.inputs, *part.results)))
        for dtype, shape in recipe.workspaces:
            self.buffers.append(Buffer(f"w{len(self.buffers)}", "workspace", dtype, shape))
            numbers.append(len(self.buffers) - 1)
        for function, launch in zip(recipe.functions, recipe.launches, strict=True):
            self.units.take(function)
            self.steps.append(self.apart(launch.on(numbers.__getitem__)))

    def apart(self, launch: Launch) -> Launch:
        """A launch that leaves operands where they are whose place a part cannot take."""
        pairs = (pair for pair in launch.in_place if self.buffers[pair[0]].role != "part")
        return replace(launch, in_place=tuple(pairs))

    def host(self, group: Group) -> None:
        """Write down a region that the framework runs."""
        op = group.last.op
        assert isinstance(op, Foreign)
        # One that is read twice is there twice: the framework counts its operands.
        reads = tuple(map(self.find, group.last.inputs))
        shapes = tuple(tuple(map(plan_size, each.shape)) for each in group.last.inputs)
        self.steps.append(Host(op.key, reads, tuple(map(self.find, group.results)), shapes))

    def workspace(self, dtype: str, shape: tuple[Any, ...]) -> int:
        """A workspace that no tensor of the graph is."""
        self.buffers.append(Buffer(f"w{len(self.buffers)}", "workspace", dtype, shape))
        return len(self.buffers) - 1

    def branch(self, group: Group, names: Sequence[str]) -> Branch:
        """The choice of two plans."""
        condition, *operands = map(self.find, group.last.inputs)
        results = tuple(map(self.find, group.last.outputs))
        then, other = names
        return Branch(condition, tuple(operands), results, (then, other), self.arena())

    def repeat(self, group: Group, names: Sequence[str]) -> Repeat:
        """The iterations of a plan."""
        op = group.last.op
        assert isinstance(op, Loop)
        go_on, trips, carried, captured = op.arrange(list(map(self.find, group.last.inputs)))
        *results, iterations = map(self.find, group.last.outputs)
        changed = updated(op.body)[len(op.body.outputs) - len(results) :]
        if self.target.kind == "cpu" and not self.target.simulated:
            self.units.take(loop_driver())
        twins = tuple(
            self.workspace(self.buffers[each].dtype, self.buffers[each].shape)
            if old is None
            else None
            for each, old in zip(results, changed, strict=True)
        )
        iteration = self.workspace("int64", ())
        again = None if go_on is None else self.workspace("bool", ())
        count = None if op.count is None else plan_size(op.count)
        ends = iterations, iteration, again, self.arena()
        return Repeat(
            names[0], go_on, trips, count, carried, captured, tuple(results), twins, *ends
        )

    def arena(self) -> int:
        """Where workspaces of bodies lie; its size is known when these are bound."""
        return self.workspace("uint8", (0,))

    def run(
        self, groups: Sequence[Group], recipes: Recipes, positions: Positions = NOWHERE
    ) -> None:
        """Write down all groups; `positions` are those of places in the graph as it was given."""
        self.groups = groups
        names = {group: list(bodies) for group, bodies in regions(self.part, groups)}
        for group in groups:
            if group.last.op.kind == "framework":
                self.host(group)
            elif group in names:
                step = self.repeat if isinstance(group.last.op, Loop) else self.branch
                self.steps.append(step(group, names[group]))
            elif is_computed(group):
                for each in group.output_views:
                    self.add_part(each)
                parts = recipes.parts(group, self.target)
                for part in parts:
                    self.compute(part)
                    for note in part.recipe.notes:
                        known = self.notes.get(note.function, note)
                        self.notes[note.function] = placed(known, group, positions)
                if len(parts) > 1 and group.anchor is not None:
                    why = f"the schedule of {group.anchor.op.name} has no hook for all of it"
                    group.reason = f"{len(parts)} kernels instead of one: {why}"

    def plan(self, home: Mapping[str, str]) -> Plan:
        """The plan; `home` names the binary of each kernel."""
        steps = tuple(at_home(step, home) for step in self.steps)
        inputs = tuple(self.number[each] for each in self.graph.inputs if each not in self.names)
        found = (self.find(each) for each in self.graph.outputs)
        # What was updated in place does not come out: it is where the caller has it.
        outputs = tuple(each for each in found if self.buffers[each].role == "output")
        then = None if self.follows is None else self.then(self.follows)
        buffers, target = tuple(self.buffers), str(self.target)
        return Plan(
            target, buffers, steps, inputs, outputs, self.symbols, given=self.given, then=then
        )

    def then(self, follows: Follows) -> Then:
        """How the plan goes on."""
        stage = follows.stage
        known = {*self.symbols, *self.given, *(each.size.name for each, _ in stage.data_sizes)}
        data_sizes = (
            SizeBuffer(
                each.size.name,
                self.find(tensor),
                *each.limits,
                None if each.equals is None else plan_size(each.equals),
                tuple(
                    Relation(plan_size(one.left), one.sign, plan_size(one.right))
                    for one in each.holds
                    if {var.name for var in one.symbols} <= known  # else a later size has it too
                ),
            )
            for each, tensor in stage.data_sizes
        )
        forwarded = tuple(map(self.find, stage.forwarded))
        return Then(follows.part, tuple(data_sizes), forwarded, follows.results, stage.passed)


def at_home(step: Step, home: Mapping[str, str]) -> Step:
    """A step with the binary of the function that it runs."""
    match step:
        case Launch():
            return replace(step, binary=home[step.function])
        case Repeat():
            return replace(step, driver=home.get(DRIVER, ""))
    return step


def is_computed(group: Group) -> bool:
    """Whether kernels compute the group: it is no region of the framework's, and not in memory
    already."""
    return group.last.op.kind == "kernels" and not group.is_free


def lowered_groups(groups: Iterable[Group]) -> list[Group]:
    """Those of the groups that kernels compute."""
    return [group for group in groups if is_computed(group)]


def symbols_of(graph: FlowGraph) -> dict[str, tuple[int, int]]:
    """From which input and axis each symbolic size is read."""
    found: dict[str, tuple[int, int]] = {}
    mentioned: dict[Var, None] = {}
    for position, tensor in enumerate(graph.inputs):
        for axis, size in enumerate(tensor.shape):
            if isinstance(size, Var):
                found.setdefault(size.name, (position, axis))
    for tensor in (*graph.inputs, *graph.outputs):
        for size in tensor.shape:
            if isinstance(size, Expr):
                mentioned.update(dict.fromkeys(variables(size)))
    for var in mentioned:
        if var.name not in found:
            raise InternalError(f"nothing says how large `{var.name}` is: no input has that size")
    return found
