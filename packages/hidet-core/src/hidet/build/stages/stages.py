"""A graph with data-dependent sizes, cut where these are read: a graph for each stage.

A node runs as soon as the sizes that it needs were read. What costs nothing where it is used, views
and what is made of nothing, is in each stage that reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hidet.errors import NotYet
from hidet.graph.data_sizes import DataSize, stages_of
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import reading
from hidet.graph.tensor import Node, Tensor
from hidet.ir.expr import wrap
from hidet.ir.walk import variables
from hidet.ops.indexing.in_place import updated_tensor
from hidet.optimize.separate_outputs import is_view, memory, separate_outputs
from hidet.runtime.plans.calls import MAX_STAGES


@dataclass(frozen=True)
class Stage:
    """What runs between two readings of sizes.

    The first outputs of `graph` that come out are the `results` of the whole with these positions;
    the last ones, which are `passed`, only later stages read. `data_sizes` are the sizes that are
    read at its end, each with its tensor, and `forwarded` what the next stage gets for its inputs.
    """

    graph: FlowGraph
    results: tuple[int, ...]
    passed: int = 0
    data_sizes: tuple[tuple[DataSize, Tensor], ...] = ()
    forwarded: tuple[Tensor, ...] = ()


def cut(graph: FlowGraph, shared: Sequence[Tensor] = ()) -> list[Stage]:
    """The stages of a graph, of whose inputs the `shared` ones are there for all stages."""
    if not graph.data_sizes:
        return [Stage(graph, tuple(range(len(graph.outputs))))]
    return Cutting(graph, shared).run()


class Cutting:
    """What is known of a graph that is cut."""

    def __init__(self, graph: FlowGraph, shared: Sequence[Tensor]) -> None:
        self.graph, self.shared, self.shared_set = graph, tuple(shared), set(shared)
        self.inputs = set(graph.inputs)
        self.stages = staged(graph)
        checked = (
            graph.size_sources[each.size] for each in graph.data_sizes if each.equals is not None
        )
        read = (1 + self.home(each) for each in checked)
        self.last = max([*self.stages.values(), *read], default=0)
        self.refuse_later()
        if self.last >= MAX_STAGES:
            raise NotYet(f"a graph with sizes that are read {self.last} times")
        self.out = [each for each in graph.results if updated_tensor(each) is None]
        """What comes out: an update in place is where the caller has it."""

    def refuse_later(self) -> None:
        """Raise NotYet if a size has to be another one that only a later stage knows."""
        homes = {
            each.size: self.home(self.graph.size_sources[each.size])
            for each in self.graph.data_sizes
        }
        for each in self.graph.data_sizes:
            if each.equals is not None and any(
                homes.get(var, -1) > homes[each.size] for var in variables(wrap(each.equals))
            ):
                raise NotYet(
                    f"a data-dependent size has to be {each.equals}, told later",
                    place=each.place,
                )

    def run(self) -> list[Stage]:
        """All stages."""
        found: list[Stage] = []
        now = {each: each for each in self.graph.inputs}
        for number in range(self.last + 1):
            inputs = list(now.values())
            self.extend(now, number)
            following = self.live(number + 1) if number < self.last else []
            found.append(self.stage(now, inputs, number, following))
            now = {each: Tensor(each.type, each.device, name=each.name) for each in following}
            now |= {each: each for each in self.shared}
        return found

    def stage(
        self,
        now: dict[Tensor, Tensor],
        inputs: list[Tensor],
        number: int,
        following: list[Tensor],
    ) -> Stage:
        """One stage, in which `now` stands for the tensors of the whole."""
        own = [each for each in self.graph.results if self.home(each) == number]
        places = tuple(at for at, each in enumerate(self.out) if self.home(each) == number)
        size_sources = self.graph.size_sources
        data_sizes = tuple(
            (each, now[size_sources[each.size]])
            for each in self.graph.data_sizes
            if number < self.last and self.home(size_sources[each.size]) == number
        )
        forwarded = tuple(now[each] for each in following)
        name = self.graph.name
        given = separate_outputs(
            FlowGraph(inputs, [now[each] for each in own], name, data_sizes=())
        )
        there = {memory(each) for each in (*inputs, *given.outputs)}
        passed: dict[Tensor, Tensor] = {}
        for each in (*forwarded, *(t for _, t in data_sizes)):
            if memory(each) not in there:
                passed.setdefault(memory(each), each)
        made = FlowGraph(inputs, (*given.outputs, *passed.values()), name, data_sizes=())
        return Stage(self.without_unread(made), places, len(passed), data_sizes, forwarded)

    def without_unread(self, graph: FlowGraph) -> FlowGraph:
        """The graph without those shared inputs that nothing in it reads."""
        read = {each for node in graph.nodes for each in node.inputs}.union(graph.outputs)
        kept = [t for t in graph.inputs if t in read or t not in self.shared_set]
        return graph.with_outputs(graph.outputs, kept)

    def home(self, tensor: Tensor) -> int:
        """The stage in which a tensor is computed."""
        if tensor in self.inputs or tensor.storage is not None or tensor.trace is None:
            return 0
        return self.stages[tensor.trace[0]]

    def extend(self, now: dict[Tensor, Tensor], number: int) -> None:
        """Add what a stage computes, and what costs nothing of what it is given."""
        for node in self.graph.nodes:
            at = self.stages[node]
            if at > number or (at < number and not is_free(node)):
                continue
            inputs = [each if each.storage is not None else now.get(each) for each in node.inputs]
            there = tuple(each for each in inputs if each is not None)
            if len(there) == len(inputs):
                made = reading(node, there)
                for old, new in zip(node.outputs, made.outputs, strict=True):
                    now.setdefault(old, new)

    def live(self, number: int) -> list[Tensor]:
        """What stages from `number` on read of those before."""
        read = [t for node in self.graph.nodes if self.stages[node] >= number for t in node.inputs]
        read += [each for each in self.graph.results if self.home(each) >= number]
        found = dict.fromkeys(source for each in read for source in self.sources(each))
        return [t for t in found if self.home(t) < number and t not in self.shared_set]

    def sources(self, tensor: Tensor) -> Iterable[Tensor]:
        """The tensors that have to be in memory for one to be read."""
        waiting = [tensor]
        while waiting:
            each = waiting.pop()
            if each.storage is not None:
                continue
            if each not in self.inputs and each.trace is not None and is_free(each.trace[0]):
                waiting += reversed(each.trace[0].inputs)
            else:
                yield each


def is_free(node: Node) -> bool:
    """Whether it costs nothing to have a node in several stages."""
    return node.op.kind == "kernels" and (not node.inputs or all(map(is_view, node.outputs)))


def staged(graph: FlowGraph) -> dict[Node, int]:
    """The stage of each node; an update in place waits for all who read what was there before."""
    inputs, size_sources = graph.inputs, graph.size_sources
    floors: dict[Node, int] = {}
    updates = [n for n in graph.nodes if any(updated_tensor(t) is not None for t in n.outputs)]
    while True:
        stages = stages_of(graph.nodes, size_sources, inputs, floors)
        before = dict(floors)
        for node in updates:
            floors[node] = max(
                [stages[node], *(stages[each] for each in old_readers(graph, node))], default=0
            )
        if floors == before:
            return stages


def old_readers(graph: FlowGraph, update: Node) -> list[Node]:
    """The nodes that read what an update in place writes over, as it was before."""
    old, found = {update.inputs[0]}, []
    for node in graph.nodes:
        if node is not update and not old.isdisjoint(node.inputs):
            if is_free(node):
                old.update(node.outputs)
            else:
                found.append(node)
    return found
