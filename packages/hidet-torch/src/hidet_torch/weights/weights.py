"""Weights of compiled graphs: used where they lie, looked at before each call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import count
from operator import attrgetter, call
from threading import Lock
from weakref import WeakSet

import torch
from torch._guards import TracingContext

from hidet.errors import BadArgument
from hidet.frontend.execute import Origin, Runner, View
from hidet.graph import Tensor
from hidet_torch.memory.streams import stream_of
from hidet_torch.memory.tensors import view_of
from hidet_torch.weights.weight import Weight, is_same, lies_in


class Weights:
    """The weights of one compiled graph, and what they were when they were last looked at."""

    def __init__(self, weights: Mapping[Tensor, Weight]) -> None:
        self.by_tensor = dict(weights)
        self.lock = Lock()
        self.asked = 0
        """Another number each time that somebody asks to look at all weights again."""
        self.runner: Runner | None = None
        self.read: list[Callable[[], int]] = []
        self.places: list[Callable[[], int]] = []
        self.counted: list[torch.Tensor] = []
        self.seen_read: list[int] = []
        self.seen: list[int] = []
        """What `stamps` were when everything was brought up to date."""
        self.lent: dict[str, torch.Tensor] = {}
        """Where weights lie in what is derived of them: see `lending`."""
        self.strides_stay = TracingContext.try_get() is not None
        """Whether Dynamo guards how the model's tensors lie."""
        self.lend_again: Callable[[Weights], object] = lambda weights: None
        """Sets tensors that were put elsewhere to be views again."""
        self.given_up: dict[str, torch.Tensor] = {}
        """Tensors of the model that are not looked at any more."""
        self.fixed: list[tuple[torch.Tensor, int, int]] = []
        """What else was derived from when they went, as it was then."""
        LIVE.add(self)

    def view(self, tensor: Tensor) -> View:
        """Where a constant's values lie."""
        return view_of(self.by_tensor[tensor].memory)

    def origin(self, tensor: Tensor) -> Origin:
        """Of which tensor of the model a constant is: other graphs may derive the same from it."""
        weight = self.by_tensor[tensor]
        return Origin(weight.source, weight.order)

    def watch(self, runner: Runner) -> None:
        """Notice from now on when weights move, and when what others are derived from changes."""
        self.runner = runner
        self.look()

    def look(self) -> None:
        """Take what is there now for what there should be."""
        self.find()
        self.seen_read = [*map(call, self.read)]
        self.seen = self.stamps()

    def find(self) -> None:
        """Find out what to look at."""
        assert self.runner is not None
        read: list[Callable[[], int]] = []
        places: list[Callable[[], int]] = []
        counted: list[torch.Tensor] = []
        for name, tensor in self.kept().items():
            weight = self.by_tensor[tensor]
            is_read = name in self.runner.direct and weight.is_shared
            (read if is_read else places).append(weight.source.data_ptr)
            if name in self.lent and self.lies(name):
                continue  # what is written to it is in the derived constant
            is_copied = name in self.runner.sources or not lies_in(weight.memory, weight.source)
            if is_copied and not weight.source.is_inference():
                counted.append(weight.source)
        self.read, self.places, self.counted = read, places, counted

    def stamps(self) -> list[int]:
        """What was asked for, where the weights lie that calls do not read themselves, and how
        often those that count were written to."""
        return [self.asked, *map(call, self.places), *map(writes_to, self.counted)]

    def check(self) -> None:
        """Bring everything up to date if a weight changed since the last call."""
        self.check_read()
        if self.changed(self.seen):
            self.update()

    def check_read(self) -> None:
        """Bring everything up to date if a weight that calls read lies elsewhere: a call may begin.

        What it computes is not right before `changed` says that nothing else did.
        """
        if self.asked != self.seen[0] or [*map(call, self.read)] != self.seen_read:
            self.update()

    def changed(self, seen: list[int]) -> bool:
        """Whether what weights are derived from is not what was `seen` when a call began: it has
        changed, or another thread has brought everything up to date meanwhile."""
        return self.stamps() != seen

    def update(self) -> None:
        """Find every weight again and derive anew what is derived, unless it was done meanwhile.

        What was seen is noted when all is done: after a failure the next call tries again, and
        other threads wait instead of reading what is half made.
        """
        assert self.runner is not None
        with self.lock, self.runner.aside():
            if [*map(call, self.read)] == self.seen_read and not self.changed(self.seen):
                return
            self.require_the_same()
            self.find()
            # Before anything is read: what is written meanwhile shows at the next call.
            seen_read, seen = [*map(call, self.read)], self.stamps()
            named = self.kept()
            if self.runner.sealed:  # nothing is derived again, so that nobody reads these
                named = {name: tensor for name, tensor in named.items() if name not in self.lent}
            views = {name: self.by_tensor[tensor].renew() for name, tensor in named.items()}
            self.runner.renew(views, stream_of(self.runner.executor.device)())
            self.seen_read, self.seen = seen_read, seen
            self.lend_again(self)

    def lies(self, name: str) -> bool:
        """Whether a weight that was lent is still where it was put."""
        assert self.runner is not None
        return is_same(self.by_tensor[self.runner.weights[name]].source, self.lent[name])

    def hold_less(self) -> None:
        """Let go of what only weights that lie in a derived constant were needed for."""
        assert self.runner is not None
        self.runner.let_go(self.lent)
        for name in self.lent:
            tensor = self.runner.weights[name]
            self.by_tensor[tensor].hold_none()
            tensor.storage = None
        self.look()

    def kept(self) -> dict[str, Tensor]:
        """The constants whose tensors are still looked at, by name."""
        assert self.runner is not None
        named = self.runner.weights.items()
        return {name: tensor for name, tensor in named if name not in self.given_up}

    def give_up(self, names: Collection[str]) -> None:
        """Look no more at these weights, and let go of what only they were needed for."""
        runner = self.runner
        assert runner is not None
        with self.lock:
            runner.give_up(name for name in names if name not in runner.direct)
            for name in names:
                tensor = runner.weights[name]
                weight = self.by_tensor[tensor]
                self.given_up[name] = weight.source
                if name not in runner.direct:
                    weight.memory, tensor.storage = torch.empty(0), None
            if runner.sealed:
                kept = self.kept().items()
                left = [
                    self.by_tensor[tensor].source
                    for name, tensor in kept
                    if name in runner.sources and name not in self.lent
                ]
                self.fixed = [(each, each.data_ptr(), writes(each)) for each in left]
            self.look()

    def require_the_same(self) -> None:
        """Raise if something that is derived once only would have to be derived again."""
        if not self.given_up:
            return
        assert self.runner is not None
        named = self.runner.weights
        replaced = any(
            self.by_tensor[named[name]].source is not source
            for name, source in self.given_up.items()
        )
        written = any(
            (each.data_ptr(), writes(each)) != (place, count) for each, place, count in self.fixed
        )
        moved = any(not self.lies(name) for name in self.lent)
        if replaced or written or (moved and self.runner.sealed):
            raise BadArgument(
                "weights changed after steal_weights, which keeps only what was derived from them",
                help="compile the model again, without steal_weights",
            )

    def replace(self, others: Mapping[int, torch.Tensor]) -> None:
        """Read other tensors from the next call on, given by the id of those they stand for."""
        with self.lock:
            for weight in self.by_tensor.values():
                weight.source = others.get(id(weight.source), weight.source)
            self.asked = next(ASKED)


LIVE: WeakSet[Weights] = WeakSet()
ASKED = count(1)
writes_to = attrgetter("_version")
"""How often a tensor was written to."""


def writes(tensor: torch.Tensor) -> int:
    """How often a tensor was written to; 0 where nobody counts."""
    return 0 if tensor.is_inference() else int(writes_to(tensor))


def refresh(model: torch.nn.Module) -> None:
    """Look at all weights of `model` again before its next calls.

    Needed only after writes that PyTorch does not count, such as through `.data`, numpy or DLPack.
    """
    own = {id(each) for each in (*model.parameters(), *model.buffers())}
    for weights in list(LIVE):
        if any(id(weight.source) in own for weight in weights.by_tensor.values()):
            weights.asked = next(ASKED)
