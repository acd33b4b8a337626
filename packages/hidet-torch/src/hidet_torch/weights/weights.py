"""Weights of compiled graphs: tensors of the model, some of them inside of what is derived."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from weakref import WeakSet

import torch
from torch._guards import TracingContext

from hidet.errors import BadArgument
from hidet.frontend.running.weights import Stamp
from hidet.frontend.running.weights import Weights as CoreWeights
from hidet.graph import Tensor
from hidet_torch.memory.streams import stream_of
from hidet_torch.weights.stamps import by_function
from hidet_torch.weights.weight import Weight, is_same


class Weights(CoreWeights[Weight]):
    """The weights of one compiled graph, which may lie in what is derived of them."""

    def __init__(self, weights: Mapping[Tensor, Weight], device: str) -> None:
        super().__init__(weights, attrgetter("_version"), stream_of(device))
        self.lent: dict[str, torch.Tensor] = {}
        """Where weights lie in what is derived of them: see `aliasing`."""
        self.strides_stay = TracingContext.try_get() is not None
        """Whether Dynamo guards how the model's tensors lie."""
        self.alias_again: Callable[[Weights], object] = lambda weights: None
        """Sets tensors that were put elsewhere to be views again."""
        self.fixed: list[tuple[torch.Tensor, int, int]] = []
        """What else was derived from when weights went, as it was then."""
        LIVE.add(self)

    def asking(self, sources: Sequence[Weight], counted: Sequence[torch.Tensor]) -> Stamp:
        quick = by_function([each.source for each in sources], counted)
        return quick or super().asking(sources, counted)

    def is_part(self, name: str) -> bool:
        return name in self.lent and self.lies(name)

    def lies(self, name: str) -> bool:
        """Whether a weight that was lent is still where it was put."""
        assert self.runner is not None
        return is_same(self.by_tensor[self.runner.weights[name]].source, self.lent[name])

    def hold_less(self) -> None:
        """Let go of what only weights that lie in a derived constant were needed for."""
        assert self.runner is not None
        self.runner.let_go(self.lent)
        self.release(self.lent)
        self.look()

    def gave_up(self) -> None:
        runner = self.runner
        if runner is not None and runner.sealed:
            kept = self.kept().items()
            left = [
                self.by_tensor[tensor].source
                for name, tensor in kept
                if name in runner.sources and name not in self.lent
            ]
            self.fixed = [(each, each.data_ptr(), writes(each)) for each in left]

    def require_derivable(self) -> None:
        if not self.given_up:
            return
        assert self.runner is not None
        named = self.runner.weights
        replaced = any(
            self.by_tensor[named[name]].source is not origin.source
            for name, origin in self.given_up.items()
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

    def renewed(self) -> None:
        self.alias_again(self)

    def replace(self, others: Mapping[int, torch.Tensor]) -> None:
        """Read other tensors from the next call on, given by the id of those they stand for."""
        with self.lock:
            for weight in self.by_tensor.values():
                weight.source = others.get(id(weight.source), weight.source)
            self.ask()


LIVE: WeakSet[Weights] = WeakSet()


def writes(tensor: torch.Tensor) -> int:
    """How often a tensor was written to; 0 where nobody counts."""
    return 0 if tensor.is_inference() else int(tensor._version)


def refresh(model: torch.nn.Module) -> None:
    """Look at all weights of `model` again before its next calls.

    Needed only after writes that PyTorch does not count, such as through `.data`, numpy or DLPack.
    """
    own = {id(each) for each in (*model.parameters(), *model.buffers())}
    for weights in list(LIVE):
        if any(id(weight.source) in own for weight in weights.by_tensor.values()):
            weights.ask()
