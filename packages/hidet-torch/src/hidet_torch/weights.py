"""Weights of compiled graphs: used where they lie, looked at before each call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import count
from operator import attrgetter, call
from threading import Lock
from weakref import WeakSet

import torch
from torch._guards import TracingContext

from hidet.errors import BadArgument, Capturing
from hidet.frontend.execute import Origin, Runner, View
from hidet.graph import Tensor
from hidet.types import TensorType
from hidet_torch.dtypes import hidet_dtype
from hidet_torch.streams import is_captured, stream_of
from hidet_torch.tensors import device_of, storage_of, view_of, view_shape

ALIGNMENT = 16


@dataclass
class Weight:
    """A tensor of the model as a constant: `memory` is what kernels read.

    It is the source itself with its axes in `order` where that lies in rows, else a copy of our
    own: `is_shared` tells which.
    """

    source: torch.Tensor
    device: str
    order: tuple[int, ...]
    memory: torch.Tensor
    is_shared: bool

    @staticmethod
    def of(source: torch.Tensor, device: str, order: tuple[int, ...]) -> Weight:
        """The weight of a tensor."""
        memory = rows(source, device, order)
        return Weight(source, device, order, memory, lies_in(memory, source))

    def constant(self) -> Tensor:
        """The weight as a constant of a graph, in the same memory."""
        of = TensorType(hidet_dtype(self.memory.dtype), view_shape(self.memory))
        return Tensor(of, self.device, storage_of(self.memory))

    def renew(self) -> View:
        """Look again where the source lies, or copy it again; Outgrown if it cannot be."""
        if (self.source.dtype, self.source.ndim) != (self.memory.dtype, self.memory.ndim):
            raise Outgrown("a weight changed its type or its shape since it was compiled")
        fresh = rows(self.source, self.device, self.order)
        if fresh.shape != self.memory.shape:
            raise Outgrown("a weight changed its type or its shape since it was compiled")
        shared = lies_in(fresh, self.source)
        if shared or self.is_shared or self.memory.is_meta:
            # What was shared is the user's, and never written to.
            self.memory, self.is_shared = fresh, shared
        else:
            self.memory.copy_(fresh)
        return view_of(self.memory)

    def values(self) -> torch.Tensor:
        """The values in rows, also where none are held."""
        return rows(self.source, self.device, self.order) if self.memory.is_meta else self.memory

    def hold_none(self) -> None:
        """Let go of the memory; only its shape and type are kept."""
        self.memory = self.memory.to("meta")


def lies_in(memory: torch.Tensor, source: torch.Tensor) -> bool:
    """Whether a tensor is its source under another order of axes."""
    return memory.data_ptr() == source.data_ptr()


def is_same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors are the same elements in memory."""
    return (a.data_ptr(), a.stride()) == (b.data_ptr(), b.stride())


class Outgrown(Exception):
    """A weight has another type or shape than the one that was compiled for."""


def rows(source: torch.Tensor, device: str, order: tuple[int, ...]) -> torch.Tensor:
    """The values in rows on a device, aligned; shared with the source where it is so already.

    Capturing, if they have to be copied and PyTorch's work is captured into a CUDA graph.
    """
    if is_gone(source):
        raise BadArgument(
            "a weight was given away by steal_weights when another graph was compiled",
            help="load the weights again with load_state_dict(..., assign=True)",
        )
    if is_captured(device) and not lies_in_rows(source, device, order):
        raise Capturing(
            "a weight cannot be copied while a CUDA graph is captured",
            help="call the model once before the capture, after the last write to its weights",
        )
    with torch.no_grad():
        found = source.detach().resolve_conj().resolve_neg().to(device)
        found = found.permute(order).contiguous()
        return found if found.data_ptr() % ALIGNMENT == 0 else found.clone()


def lies_in_rows(source: torch.Tensor, device: str, order: tuple[int, ...]) -> bool:
    """Whether kernels can read the values where they are."""
    is_there = device_of(source.device) == device and source.data_ptr() % ALIGNMENT == 0
    is_plain = not (source.is_conj() or source.is_neg())
    return is_there and is_plain and source.detach().permute(order).is_contiguous()


def is_gone(source: torch.Tensor) -> bool:
    """Whether the memory of a tensor was given back."""
    return source.numel() > 0 and source.untyped_storage().nbytes() == 0


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
