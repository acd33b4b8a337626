"""Weights that stay the framework's: used where they lie, looked at before each call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from itertools import count
from operator import call
from threading import Lock
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from hidet.build.compiled import CompiledGraph
from hidet.frontend.running.execute import Origin, Runner, View
from hidet.graph import Tensor
from hidet.runtime.binding.memory import array_of

Stamp: TypeAlias = Callable[[], object]
"""Gives another value once something changed. It is asked at each call: best a C function."""

Seen: TypeAlias = tuple[int, object]
"""How often somebody had asked to look, and what was told of the weights that calls do not read."""


class Source(Protocol):
    """Where the values of one constant come from."""

    def view(self) -> View:
        """The values as kernels read them: the framework's own memory, or a copy of it."""

    def renew(self) -> View:
        """The same for the values that there are now."""

    def is_copied(self) -> bool:
        """Whether kernels read a copy of what the framework has now."""

    def stamp(self) -> Stamp:
        """What tells whether the values lie elsewhere: their address, or who holds them."""

    def counted(self) -> Any:
        """What the `count` of `Weights` takes to tell whether the values were written to.

        None where nobody counts, or nothing is ever written to.
        """

    def origin(self) -> Origin:
        """What the values are of: other graphs may derive the same from it."""

    def release(self) -> None:
        """Hold no memory any more: nobody reads it."""


S = TypeVar("S", bound=Source)


class Weights(Generic[S]):
    """The weights of one compiled graph, and what they were when they were last looked at."""

    def __init__(
        self,
        weights: Mapping[Tensor, S],
        count: Callable[[Any], Hashable] = call,
        stream: Callable[[], int] = lambda: 0,
    ) -> None:
        self.by_tensor = dict(weights)
        self.count = count
        """Tells of what `Source.counted` gives how often it was written to."""
        self.stream = stream
        """The stream on which the caller computes when weights are derived from."""
        self.lock = Lock()
        self.asked = 0
        """Another number each time that somebody asks to look at all weights again."""
        self.runner: Runner | None = None
        self.read: Stamp = nothing
        """Tells of all weights that calls read where they lie."""
        self.derived: Stamp = nothing
        """Tells of all others where they lie, and of those that count how often they were written
        to."""
        self.seen_read: object = None
        self.seen: Seen = (0, None)
        """What was told when everything was brought up to date."""
        self.given_up: dict[str, Origin] = {}
        """What weights were of that are not looked at any more."""

    def view(self, tensor: Tensor) -> View:
        """Where a constant's values lie."""
        return self.by_tensor[tensor].view()

    def origin(self, tensor: Tensor) -> Origin:
        """What a constant is of."""
        return self.by_tensor[tensor].origin()

    def watch(self, runner: Runner) -> None:
        """Notice from now on when weights move, and when what others are derived from changes."""
        self.runner = runner
        self.look()

    def look(self) -> None:
        """Take what is there now for what there should be."""
        self.find()
        self.seen_read, self.seen = self.read(), (self.asked, self.derived())

    def find(self) -> None:
        """Find out what to look at."""
        assert self.runner is not None
        read: list[S] = []
        derived: list[S] = []
        written: list[Any] = []
        for name, tensor in self.kept().items():
            source = self.by_tensor[tensor]
            (read if name in self.runner.direct else derived).append(source)
            if self.is_part(name):
                continue  # what is written to it is in the derived constant
            counted = source.counted()
            if counted is not None and (name in self.runner.sources or source.is_copied()):
                written.append(counted)
        self.read, self.derived = self.asking(read, []), self.asking(derived, written)

    def check(self) -> None:
        """Bring everything up to date if a weight changed since the last call."""
        self.check_read()
        if self.changed(self.seen):
            self.update()

    def check_read(self) -> None:
        """Bring everything up to date if a weight that calls read lies elsewhere: a call may begin.

        What it computes is not right before `changed` says that nothing else did.
        """
        if self.asked != self.seen[0] or self.read() != self.seen_read:
            self.update()

    def changed(self, seen: Seen) -> bool:
        """Whether what weights are derived from is not what was `seen` when a call began: it has
        changed, or another thread has brought everything up to date meanwhile."""
        return self.asked != seen[0] or self.derived() != seen[1]

    def update(self) -> None:
        """Find every weight again and derive anew what is derived, unless it was done meanwhile.

        What was seen is noted when all is done: after a failure the next call tries again, and
        other threads wait instead of reading what is half made.
        """
        assert self.runner is not None
        with self.lock, self.runner.aside():
            if self.read() == self.seen_read and not self.changed(self.seen):
                return
            self.require_derivable()
            self.find()
            # Before anything is read: what is written meanwhile shows at the next call.
            seen_read, seen = self.read(), (self.asked, self.derived())
            named = self.kept().items()
            if self.runner.sealed:  # nothing is derived again, so that nobody reads these
                named = {n: t for n, t in named if not self.is_part(n)}.items()
            self.runner.renew({n: self.by_tensor[t].renew() for n, t in named}, self.stream())
            self.seen_read, self.seen = seen_read, seen
            self.renewed()

    def ask(self) -> None:
        """Look at all weights again before the next call."""
        self.asked = next(ASKED)

    def kept(self) -> dict[str, Tensor]:
        """The constants that are still looked at, by name."""
        assert self.runner is not None
        named = self.runner.weights.items()
        return {name: tensor for name, tensor in named if name not in self.given_up}

    def give_up(self, names: Collection[str]) -> None:
        """Look no more at these weights, and let go of what only they were needed for."""
        runner = self.runner
        assert runner is not None
        with self.lock:
            unread = [name for name in names if name not in runner.direct]
            runner.give_up(unread)
            self.given_up |= {name: self.origin(runner.weights[name]) for name in names}
            self.gave_up()
            self.release(unread)
            self.look()

    def release(self, names: Iterable[str]) -> None:
        """Hold no memory of weights that calls do not read."""
        assert self.runner is not None
        for name in names:
            tensor = self.runner.weights[name]
            self.by_tensor[tensor].release()
            tensor.storage = None

    # ---- what a frontend may add -----------------------------------------------------------------

    def asking(self, sources: Sequence[S], counted: Sequence[Any]) -> Stamp:
        """What tells of sources whether they lie elsewhere, and of what `count` takes whether it
        was written to: all at once, which may take less time."""
        stamps = [each.stamp() for each in sources]
        if not (stamps or counted):
            return nothing
        return lambda: [*map(call, stamps), *map(self.count, counted)]

    def is_part(self, name: str) -> bool:
        """Whether a weight lies in what is derived of it, so that nothing is derived anew."""
        return False

    def gave_up(self) -> None:
        """Weights were given up: what else was derived from had better stay as it is."""

    def require_derivable(self) -> None:
        """Raise if what is derived once only would have to be derived again."""

    def renewed(self) -> None:
        """Everything was brought up to date."""


def nothing() -> None:
    """There is nothing to tell of."""


class GraphWeights(Weights[S]):
    """Constants of a `CompiledGraph` that stay the framework's; others never change.

    Its calls, its files and the graph that it was made of have the values that there are now.
    """

    def __init__(self, compiled: CompiledGraph, weights: Mapping[Tensor, S]) -> None:
        super().__init__(weights)
        self.compiled = compiled
        self.watch(Runner(compiled.executor, compiled.weights))

    def kept(self) -> dict[str, Tensor]:
        return {name: each for name, each in super().kept().items() if each in self.by_tensor}

    def renewed(self) -> None:
        for tensor in self.kept().values():
            view = self.view(tensor)
            tensor.storage = array_of(view) if tensor.device == "cpu" else view
        self.compiled.renewed()


ASKED = count(1)
