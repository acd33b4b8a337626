"""Constants made of weights: graphs that make the same of the same weights share one memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import asdict, dataclass
from threading import Lock
from typing import TypeAlias
from weakref import ReferenceType, WeakValueDictionary, ref

from hidet.errors import InternalError
from hidet.runtime.devices.view import View
from hidet.runtime.plans.maps import Map
from hidet.runtime.plans.plan import Argument, Branch, Host, Plan, Pointer, Repeat, Step


@dataclass(frozen=True)
class Origin:
    """Where a weight's values come from, for those who share what is made of them."""

    source: object
    """What holds the values, as long as it is there; it can be referred to weakly."""
    form: Hashable
    """How the weight is read from it."""


Origins: TypeAlias = Callable[[str], Origin]
"""The origin of a weight, by its name."""


class Derived:
    """A constant in memory, there as long as a graph reads it."""

    def __init__(self, view: View, sources: Sequence[object] = ()) -> None:
        self.view = view
        self.sources: tuple[ReferenceType[object], ...] = tuple(map(ref, sources))

    def is_of(self, sources: Sequence[object]) -> bool:
        """Whether it is made of these: others may have their ids once they are gone."""
        return all(ours() is each for ours, each in zip(self.sources, sources, strict=True))


_known: WeakValueDictionary[Hashable, Derived] = WeakValueDictionary()
_lock = Lock()


def shared(how: str, device: str, origins: Sequence[Origin], make: Callable[[], View]) -> Derived:
    """The constant made of these origins in a way that `how` names; in new memory if none is."""
    sources = [each.source for each in origins]
    key = (how, device, *((id(each.source), each.form) for each in origins))
    with _lock:
        found = _known.get(key)
        if found is None or not found.is_of(sources):
            found = _known[key] = Derived(make(), sources)
        return found


@dataclass(frozen=True)
class Derivation:
    """How an output of a prepare plan is made: a name for it, and the weights in order of use."""

    how: str
    weights: tuple[str, ...]


def derivations(plan: Plan) -> list[Derivation]:
    """How each output is made; equal names mean the same steps on weights in the same order."""
    writers: dict[int, list[Step]] = {}
    for step in plan.steps:
        for each in step.writes:
            writers.setdefault(plan.wholes.get(each, each), []).append(step)
    return [Tracer(plan, writers).derivation(number) for number in plan.outputs]


class Tracer:
    """Follows an output back to the weights; kernels are named after what they do."""

    def __init__(self, plan: Plan, writers: dict[int, list[Step]]) -> None:
        self.plan, self.writers = plan, writers
        self.weights: dict[str, int] = {}
        self.seen: dict[int, int] = {}
        self.lines: list[str] = [plan.target]

    def derivation(self, output: int) -> Derivation:
        """All steps on the way to an output as text, its hash for a name."""
        self.follow(output)
        digest = hashlib.sha256("\n".join(self.lines).encode()).hexdigest()
        return Derivation(digest, tuple(self.weights))

    def follow(self, number: int) -> str:
        """A buffer as it is called in the text; what makes it is written down before."""
        number = self.plan.wholes.get(number, number)
        buffer = self.plan.buffers[number]
        if buffer.role == "weight":
            place = self.weights.setdefault(buffer.name, len(self.weights))
            return f"weight {place} {buffer.dtype} {buffer.shape}"
        if number not in self.seen:
            self.seen[number] = len(self.seen)
            # Nothing writes what is empty: its type and shape are all there is to tell.
            self.lines.append(f"{self.seen[number]}: {buffer.dtype} {buffer.shape}")
            for step in self.writers.get(number, ()):
                self.lines.append(f"{self.seen[number]}: {self.description(step)}")
        return f"buffer {self.seen[number]}"

    def description(self, step: Step) -> str:
        """A step with everything that decides what it does."""
        if isinstance(step, Branch | Repeat):
            raise InternalError("control flow makes no constants: it runs at each call")
        if isinstance(step, Host):
            buffers = [self.follow(each) for each in (*step.reads, *step.writes)]
            return f"{step.key} {buffers} {step.shapes}"
        form = (step.function, step.grid, step.block, step.shared_bytes)
        return f"{form} {[self.argument(each) for each in step.args]}"

    def argument(self, arg: Argument) -> str:
        """An argument of a launch."""
        if isinstance(arg, Pointer):
            return self.follow(arg.buffer)
        if isinstance(arg, Map):
            return f"{self.follow(arg.buffer)} { ({**asdict(arg), 'buffer': 0}) }"
        return repr(arg)
