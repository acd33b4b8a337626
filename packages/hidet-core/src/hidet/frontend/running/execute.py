"""From a FlowGraph to something that runs: what frontends use of the compiler and the runtime."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypedDict, Unpack

from hidet.build.compile import Compiled, compile_graph
from hidet.build.target import device_of
from hidet.errors import InternalError
from hidet.graph.flow import FlowGraph
from hidet.graph.tensor import Tensor
from hidet.runtime import Allocator, View
from hidet.runtime.binding.written_over import written_over
from hidet.runtime.devices.view import Place
from hidet.runtime.executor import Executor, Program
from hidet.runtime.plans.derived import Origin, derivations
from hidet.runtime.profiling.profile import Profile
from hidet.runtime.programs.host_program import HostStep
from hidet.runtime.progress import at_work

__all__ = [
    "Allocator",
    "HostStep",
    "Origin",
    "Place",
    "Profile",
    "Runner",
    "Slot",
    "View",
    "at_work",
    "load_runner",
    "prepare_runner",
]

NOTHING: Mapping[int, int] = MappingProxyType({})


@dataclass(frozen=True)
class Slot:
    """Where in a derived constant a weight lies: offset and strides in elements."""

    weight: str
    inside: View
    offset: int
    strides: tuple[int, ...]


class Runner:
    """A compiled graph on its device: `runner([view, ...]) -> [view, ...]`.

    `weights` names each constant; `sources` are the names of those that others are derived from.
    `key` finds the compiled graph in the cache, if it is there.
    """

    def __init__(
        self,
        executor: Executor,
        weights: Mapping[str, Tensor],
        key: str | None = None,
        over: frozenset[int] = frozenset(),
    ) -> None:
        self.executor, self.key = executor, key
        self.over = over
        """The outputs that are written where inputs lie, and do not come out."""
        self.weights = dict(weights)
        prepare = executor.archive.plans.get("prepare")
        buffers = prepare.buffers if prepare is not None else ()
        self.sources = frozenset(each.name for each in buffers if each.role == "weight")
        called = executor.archive.called.values()
        self.direct = frozenset(p.buffers[n].name for p in called for n in p.of_role("weight"))
        """The names of the constants that calls read themselves."""
        self.sealed = False
        """Whether what is derived stays as it is: its sources are gone."""
        self.epoch = 0
        """Changes when programs that `program` gave are no longer right."""

    def __call__(self, inputs: Sequence[View], stream: int = 0) -> list[View]:
        """Run on inputs without gaps that start at multiples of 16 bytes."""
        return self.executor(inputs, stream=stream)

    def program(self, inputs: Sequence[View]) -> Program:
        """What runs on inputs like these: `program(addresses, stream)`, first those of the inputs.

        Memory for the outputs, whose addresses follow, is the caller's. All start at multiples of
        16 bytes.
        """
        return self.executor.program(inputs)

    def profile(self, run: Callable[[], object], repeat: int, stream: int = 0) -> Profile:
        """Where the time of `run` goes, which calls the graph: see `CompiledGraph.profile`."""
        return self.executor.profile(run, repeat, stream)

    def aside(self) -> AbstractContextManager[None]:
        """A block of work that is no part of a call; it neither fails for what anybody captures
        into a CUDA graph nor ends it."""
        return self.executor.aside()

    def renew(self, views: Mapping[str, View], stream: int = 0) -> None:
        """Weights lie in these places from now on; what is derived from them is computed again.

        Capturing, if it has to be and the caller's stream is captured into a CUDA graph.
        """
        executor = self.executor
        with executor.lock:
            known = {name: view.pointer for name, view in executor.constants.items()}
            if any(known.get(name) != view.pointer for name, view in views.items()):
                executor.constants.update(views)
                executor.programs.clear()
                executor.chain.programs.clear()
                executor.prepared = None
                self.epoch += 1
        if not self.sealed:
            executor.refresh(stream)

    def slots(self) -> list[Slot]:
        """The weights that lie whole in what is derived of them, and where."""
        prepare = self.executor.archive.plans.get("prepare")
        if prepare is None:
            return []
        made = zip(prepare.outputs, self.executor.derived, strict=True)
        return [
            Slot(piece.weight, constant.view, piece.offset, piece.strides)
            for number, constant in made
            for piece in prepare.buffers[number].pieces
        ]

    def uses(self) -> Counter[str]:
        """How many derived constants each weight is part of."""
        prepare = self.executor.archive.plans.get("prepare")
        made = derivations(prepare) if prepare else []
        return Counter(name for each in made for name in each.weights)

    def let_go(self, names: Iterable[str]) -> None:
        """Hold no more weights that calls do not read, until they are to be derived from again."""
        gone = set(names)
        if gone & self.direct:
            raise InternalError(f"calls read {sorted(gone & self.direct)}")
        with self.executor.lock:
            kept = {n: view for n, view in self.executor.constants.items() if n not in gone}
            self.executor.constants = kept
            self.executor.prepared = None

    def give_up(self, names: Iterable[str]) -> None:
        """Let go of weights that calls do not read; nothing is derived again from now on."""
        gone = set(names)
        self.let_go(gone)
        self.sealed = self.sealed or bool(gone & self.sources)


class Loading(TypedDict, total=False):
    """How `load_runner` loads a graph."""

    allocator: Allocator | None
    host_steps: Mapping[str, HostStep] | None
    use_graph: bool
    origin: Callable[[Tensor], Origin] | None
    stream: int
    over: Mapping[int, int]
    threads: Callable[[], int] | None


def prepare_runner(
    graph: FlowGraph, view: Callable[[Tensor], View], **how: Unpack[Loading]
) -> Runner:
    """Compile a graph for its device and load it, as `load_runner` does."""
    return load_runner(compile_graph(graph), device_of(graph), view, **how)


def load_runner(
    compiled: Compiled,
    device: str,
    view: Callable[[Tensor], View],
    *,
    allocator: Allocator | None = None,
    host_steps: Mapping[str, HostStep] | None = None,
    use_graph: bool = True,
    origin: Callable[[Tensor], Origin] | None = None,
    stream: int = 0,
    over: Mapping[int, int] = NOTHING,
    threads: Callable[[], int] | None = None,
) -> Runner:
    """Load a compiled graph onto a device; `view` says where a constant's values lie.

    By the `origin` of its values what is derived from a constant is shared with other graphs.
    `stream` is the caller's, where the values may still be computed. `over` has the numbers of
    outputs, each with that of the input where it had best be written: see `Runner.over`. `threads`
    is how many the framework uses on the CPU: it is asked at each call, and option `threads` is
    stronger.
    """
    archive = compiled.archive
    main, done = written_over(archive.main, over)
    executor = Executor(
        replace(archive, plans={**archive.plans, "main": main}) if done else archive,
        device,
        allocator=allocator,
        host_steps=host_steps,
        weights={name: view(tensor) for name, tensor in compiled.weights.items()},
        use_graph=use_graph,
        origins=None if origin is None else lambda name: origin(compiled.weights[name]),
        stream=stream,
        threads=threads,
    )
    return Runner(executor, compiled.weights, compiled.key, done)
