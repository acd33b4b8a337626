"""Weights of compiled graphs: used where they lie, looked at before each call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter, call
from threading import Lock
from typing import Any
from weakref import WeakSet

import torch

from hidet.frontend.execute import Runner, View
from hidet.graph import Tensor
from hidet_torch.tensors import view_of

ALIGNMENT = 16


@dataclass
class Weight:
    """A tensor of the model as a constant: `memory` is what kernels read.

    It is the source itself with its axes in `order` where that lies in rows, else a copy.
    """

    source: torch.Tensor
    device: str
    order: tuple[int, ...]
    memory: torch.Tensor

    @staticmethod
    def of(source: torch.Tensor, device: str, order: tuple[int, ...]) -> Weight:
        """The weight of a tensor."""
        return Weight(source, device, order, rows(source, device, order))

    @property
    def is_shared(self) -> bool:
        """Whether kernels read the source itself."""
        return self.memory.data_ptr() == self.source.data_ptr()

    def renew(self) -> View:
        """Look again where the source lies, or copy it again."""
        fresh = rows(self.source, self.device, self.order)
        if self.is_shared or fresh.data_ptr() == self.source.data_ptr():
            self.memory = fresh
        else:
            self.memory.copy_(fresh)
        return view_of(self.memory)


def rows(source: torch.Tensor, device: str, order: tuple[int, ...]) -> torch.Tensor:
    """The values in rows on a device, aligned; shared with the source where it is so already."""
    with torch.no_grad():
        found = source.detach().resolve_conj().resolve_neg().to(device)
        found = found.permute(order).contiguous()
        return found if found.data_ptr() % ALIGNMENT == 0 else found.clone()


class Weights:
    """The weights of one compiled graph, and what they were when they were last looked at."""

    def __init__(self, weights: Mapping[Tensor, Weight]) -> None:
        self.by_tensor = dict(weights)
        self.lock = Lock()
        self.stale = False
        self.runner: Runner | None = None
        self.places: list[Callable[[], int]] = []
        self.counted: list[torch.Tensor] = []
        self.seen: list[Any] = []
        LIVE.add(self)

    def view(self, tensor: Tensor) -> View:
        """Where a constant's values lie."""
        return view_of(self.by_tensor[tensor].memory)

    def watch(self, runner: Runner) -> None:
        """Notice from now on when weights move, and when what others are derived from changes."""
        self.runner = runner
        for name, tensor in runner.weights.items():
            weight = self.by_tensor[tensor]
            self.places.append(weight.source.data_ptr)
            derived = name in runner.sources or not weight.is_shared
            if derived and not weight.source.is_inference():
                self.counted.append(weight.source)
        self.seen = self.stamps()

    def stamps(self) -> list[int]:
        """Where the weights lie, and how often those that count were written to."""
        return [*map(call, self.places), *map(writes_to, self.counted)]

    def check(self) -> None:
        """Bring everything up to date if a weight changed since the last call."""
        if self.stale or self.stamps() != self.seen:
            self.update()

    def update(self) -> None:
        """Find every weight again and derive anew what is derived."""
        assert self.runner is not None
        with self.lock:
            self.stale = False
            self.seen = self.stamps()
            views = {
                name: self.by_tensor[tensor].renew() for name, tensor in self.runner.weights.items()
            }
            self.runner.renew(views)


LIVE: WeakSet[Weights] = WeakSet()
writes_to = attrgetter("_version")
"""How often a tensor was written to."""


def refresh(model: torch.nn.Module) -> None:
    """Look at all weights of `model` again before its next calls.

    Needed only after writes that PyTorch does not count, such as through `.data`, numpy or DLPack.
    """
    own = {id(each) for each in (*model.parameters(), *model.buffers())}
    for weights in list(LIVE):
        if any(id(weight.source) in own for weight in weights.by_tensor.values()):
            weights.stale = True
