"""Control flow within a CUDA graph: the GPU decides which body runs, and how often.

The kernels of a body are nodes of a conditional node, on buffers of the plan that runs it. Each
pass of a loop runs the same nodes, so the values that it carries to the next one are copied to
where that one reads them, unless the body updates them in place, or a pass runs an even
number of iterations, which hand values to and fro.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from hidet.runtime.binding.bound import BoundPlan, may_overlap, misfit
from hidet.runtime.devices.launchable import CudaModule
from hidet.runtime.devices.memory_nodes import Clear, Copy
from hidet.runtime.graphs.conditional import (
    Decision,
    add_conditional,
    conditional_nodes,
    new_handle,
)
from hidet.runtime.graphs.kernel_node import KernelNode
from hidet.runtime.graphs.nodes import GraphNode, add_nodes
from hidet.runtime.plans.plan import Branch, Launch, Repeat, present
from hidet.runtime.plans.several_iterations import iterations_at_once, sides

ITERATIONS = 1 << 16
"""The most iterations of a loop in one launch of a graph. Then the host checks whether there are
more, since a running graph cannot be interrupted."""

Modules: TypeAlias = Mapping[str, CudaModule]


def fits_graph(bound: BoundPlan, number: int, *, inside: bool = False) -> bool:
    """Whether a step of control flow can be nodes of a graph: all that its bodies do can, without
    a size that has to be read or depends on which of them runs, and in a body a loop has at most
    `ITERATIONS`, as far as that is known."""
    step = bound.steps[number]
    if isinstance(step, Repeat) and inside and not is_bounded(step):
        return False
    assert isinstance(step, Branch | Repeat)
    for body in bound.bodies[number]:
        if body.plan.then is not None or misfit(step, body, bound.plan, bound.shapes):
            return False
    return conditional_nodes() and all(
        isinstance(each, Launch)
        or (number in body.bodies and fits_graph(body, number, inside=True))
        for body in bound.bodies[number]
        for number, each in enumerate(body.steps)
    )


def is_bounded(step: Repeat) -> bool:
    """Whether a loop is known to have at most `ITERATIONS` iterations."""
    return isinstance(step.count, int) and step.count <= ITERATIONS


def graph_node(bound: BoundPlan, number: int, modules: Modules) -> GraphNode:
    """What puts a step of a plan into a graph."""
    step = bound.steps[number]
    if isinstance(step, Launch):
        return KernelNode(step, modules[step.binary])
    if isinstance(step, Branch):
        return BranchNodes(step, bound.bodies[number], modules)
    assert isinstance(step, Repeat), "the framework's steps are no nodes"
    return LoopNodes(step, bound, bound.bodies[number][0], modules)


class BodyNodes:
    """The steps of a body as nodes, on buffers that the plan which runs it calls `passed`, with its
    workspaces in that one's `arena`. It reads the first of them from the i64 number `word` on."""

    def __init__(
        self,
        bound: BoundPlan,
        modules: Modules,
        passed: Sequence[int],
        arena: int,
        word: int = 0,
    ) -> None:
        self.bound, self.passed, self.arena, self.word = bound, passed, arena, word
        steps = range(len(bound.steps))
        self.items = [graph_node(bound, number, modules) for number in steps]
        self.early = {number for number in steps if bound.overlaps(number)}
        self.nodes: list[Any] = []

    def addresses(self, pointers: Sequence[int]) -> list[int]:
        """Where the body's buffers lie."""
        plan = self.bound.plan
        found = [0] * len(plan.buffers)
        for buffer, outside in zip((*plan.inputs, *plan.outputs), self.passed, strict=True):
            found[buffer] = pointers[outside]
        if self.word:
            found[plan.inputs[0]] += 8 * self.word
        for buffer, offset in self.bound.arena.offsets.items():
            found[buffer] = pointers[self.arena] + offset
        return found

    def add(
        self, graph: Any, pointers: Sequence[int], before: Sequence[Any] = (), early: bool = False
    ) -> list[Any]:
        """Add them to a graph behind others, `early` if those let what comes first begin while they
        run; returns the nodes behind which all have run."""
        waits = self.bound.waits
        early_ones = {*self.early, *(self.bound.first if early else ())}
        at = self.addresses(pointers)
        self.nodes = add_nodes(graph, before, self.items, waits, early_ones, at)
        return [self.nodes[number] for number in self.bound.last]

    def update(self, executable: Any, pointers: Sequence[int]) -> None:
        """Let them work on buffers elsewhere."""
        addresses = self.addresses(pointers)
        for item, node in zip(self.items, self.nodes, strict=True):
            item.update(executable, node, addresses)


class BranchNodes:
    """A node that runs one of two bodies, behind one that looks at the condition."""

    def __init__(self, step: Branch, bodies: Sequence[BoundPlan], modules: Modules) -> None:
        self.buffers = {*step.reads, *step.writes}
        self.decision = Decision(None, step.condition, None)
        self.bodies = [BodyNodes(each, modules, step.passed, step.arena) for each in bodies]
        self.deciding: Any = None

    def add(self, graph: Any, before: Sequence[Any], pointers: Sequence[int]) -> Any:
        """Add them behind others; returns the node behind which all have run."""
        handle = new_handle(graph)
        self.deciding = self.decision.add(graph, before, handle, pointers, 1)
        node, graphs = add_conditional(graph, [self.deciding], handle, "IF", 2)
        for body, inside in zip(self.bodies, graphs, strict=True):
            body.add(inside, pointers)
        return node

    def update(self, executable: Any, node: Any, pointers: Sequence[int]) -> None:
        """Let them work on buffers elsewhere."""
        self.decision.update(executable, self.deciding, pointers, 1)
        for body in self.bodies:
            body.update(executable, pointers)


class LoopNodes:
    """A WHILE node, the copies of carried values, and the kernels that set its condition.

    It runs iterations from `start` to `start + ITERATIONS` at most. Where it continues the loop of
    another graph, everything lies where that one has left it. A pass may run several iterations;
    those that are left over come behind the node.
    """

    def __init__(
        self, step: Repeat, bound: BoundPlan, body: BoundPlan, modules: Modules, start: int = 0
    ) -> None:
        self.step, self.start = step, start
        self.buffers = {*step.reads, *step.writes}
        self.at_once = several = iterations_at_once(step, body.steps) if is_bounded(step) else 1
        rest = step.count % several if isinstance(step.count, int) and several > 1 else 0
        # An even number of iterations leaves values where they were: at the end the result is
        # written.
        even, odd = sides(step)
        places = (even, odd if several > 1 else even)
        self.bodies, self.rest = (
            [
                BodyNodes(
                    body,
                    modules,
                    passed(step, *places[(iteration + rest) % 2]),
                    step.arena,
                    iteration,
                )
                for iteration in range(count)
            ]
            for count in (several, rest)
        )
        self.early = may_begin_early(step, body)
        ends = [(each, twin) for each, twin in zip(step.results, step.twins, strict=True)]
        self.before = beginning(step, bound, places[rest % 2][0]) if start == 0 else []
        moved = [(each, twin) for each, twin in ends if twin is not None and several == 1]
        self.between = copies(moved, bound)
        self.checks = [
            Decision(step.iteration, step.again, step.trips, by, several) for by in (0, several)
        ]
        self.after = Copy(step.iterations, step.iteration, 8, 8 * rest)
        self.nodes: list[Any] = []
        self.deciding: list[Any] = []

    @property
    def limit(self) -> int:
        """The number that the first iteration of a pass stays below, as far as the host knows
        it."""
        count, most = self.step.count, self.start + ITERATIONS
        return min(count, most) - self.at_once + 1 if isinstance(count, int) else most

    def add(self, graph: Any, before: Sequence[Any], pointers: Sequence[int]) -> Any:
        """Add them behind others; returns the node behind which all have run."""
        handle = new_handle(graph)
        begun = [each.add(graph, before, pointers) for each in self.before]
        check, check_again = self.checks
        first = check.add(graph, begun or before, handle, pointers, self.limit)
        loop, (inside,) = add_conditional(graph, [first], handle, "WHILE", 1)
        last = self.iterations(inside, self.bodies, pointers)
        moved = [each.add(inside, last, pointers) for each in self.between]
        again = check_again.add(inside, moved or last, handle, pointers, self.limit)
        self.nodes = [*begun, *moved]
        self.deciding = [first, again]
        return self.after.add(graph, self.iterations(graph, self.rest, pointers, [loop]), pointers)

    def iterations(
        self,
        graph: Any,
        bodies: Sequence[BodyNodes],
        pointers: Sequence[int],
        last: Sequence[Any] = (),
    ) -> Sequence[Any]:
        """Add the nodes of iterations, each behind the one before; returns those of the last
        one."""
        for number, body in enumerate(bodies):
            last = body.add(graph, pointers, last, self.early and number > 0)
        return last

    def update(self, executable: Any, node: Any, pointers: Sequence[int]) -> None:
        """Let them work on buffers elsewhere."""
        for body in (*self.bodies, *self.rest):
            body.update(executable, pointers)
        moves: list[Clear | Copy] = [*self.before, *self.between]
        for move, moved in zip(moves, self.nodes, strict=True):
            move.update(executable, moved, pointers)
        for check, deciding in zip(self.checks, self.deciding, strict=True):
            check.update(executable, deciding, pointers, self.limit)
        self.after.update(executable, node, pointers)


def passed(
    step: Repeat, carried: Sequence[int], following: Sequence[int | None]
) -> tuple[int, ...]:
    """What stands for inputs and outputs of a loop's body, where it reads what is `carried` and
    writes what the next iteration reads; what has no twin it updates in place."""
    return (step.iteration, *carried, *step.captured, *present(step.again), *present(*following))


def may_begin_early(step: Repeat, body: BoundPlan) -> bool:
    """Whether what comes first in an iteration may begin while the last step of the iteration
    before still runs. What it reads ahead of its wait has to be what no iteration writes."""
    ends = [body.steps[number] for number in body.last]
    steady = {body.plan.inputs[0], *body.plan.inputs[1 + len(step.carried) :]}
    first = [body.steps[number] for number in body.first]
    return len(ends) == 1 and all(
        isinstance(each, Launch)
        and each.waits
        and steady.issuperset(each.ahead)
        and may_overlap(ends[0], each)
        for each in first
    )


def beginning(step: Repeat, bound: BoundPlan, places: Sequence[int]) -> list[Clear | Copy]:
    """The copies that put initial values in the places where the first pass reads them."""
    given = [*zip(places, step.carried, strict=True)]
    if step.again is not None and step.go_on is not None:
        given.append((step.again, step.go_on))
    return [Clear(step.iteration), *copies(given, bound)]


def copies(pairs: Sequence[tuple[int, int]], bound: BoundPlan) -> list[Copy]:
    """A copy for each pair of target and source that are not empty."""
    sized = [(target, source, bound.nbytes(target)) for target, source in pairs]
    return [Copy(*each) for each in sized if each[-1]]
