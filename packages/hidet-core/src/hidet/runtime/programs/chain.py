"""Plans that follow each other, as sizes become known that data tell: of a call, or of a body."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Protocol, TypeAlias

from hidet.errors import BadArchive
from hidet.runtime.binding.bound import BoundPlan, body, check_forwarded
from hidet.runtime.binding.data_sizes import read_sizes
from hidet.runtime.binding.memory import Allocator
from hidet.runtime.devices.view import View
from hidet.runtime.plans.plan import Plan, Then

SIZES_KEPT = 64
"""So many programs of plans that begin once sizes were read are kept, at the latest sizes."""

Run: TypeAlias = Callable[[list[int], int], None]
"""Runs a plan on inputs and outputs at addresses, on a stream."""
Place: TypeAlias = tuple[int, int]
"""Where a result has to go: an address, and how many bytes there are."""


class NextProgram(Protocol):
    """A program of a plan that begins once sizes were read."""

    bound: BoundPlan

    def __call__(self, addresses: Sequence[int], stream: int) -> None:
        """Run it."""


class Chain:
    """Runs plans and what follows them.

    `load` makes the program of a plan of this name at sizes that are known by then, `constants`
    tells where its weights lie.
    """

    def __init__(
        self,
        plans: Mapping[str, Plan],
        device: str,
        allocator: Allocator,
        load: Callable[[str, BoundPlan], NextProgram],
        constants: Callable[[BoundPlan], Mapping[int, int]],
        lock: Lock,
    ) -> None:
        self.plans, self.device, self.allocator = plans, device, allocator
        self.load, self.constants = load, constants
        self.programs: OrderedDict[object, NextProgram] = OrderedDict()
        """Those that were made, by name and sizes."""
        self.lock = lock

    def run(
        self,
        bound: BoundPlan,
        first: Run,
        inputs: list[int],
        stream: int,
        places: Sequence[Place] | None = None,
    ) -> list[View]:
        """All results of a plan, which `first` runs, and of those after it: in these places, or in
        memory that is made for them."""
        outputs = self.outputs(bound, places)
        addresses = inputs + [each.pointer for each in outputs]
        first(addresses, stream)
        then = bound.plan.then
        if then is None:
            return outputs
        program, forwarded = self.next(bound, then, addresses, stream)
        later = None if places is None else [places[at] for at in then.results]
        rest = self.run(program.bound, program, forwarded, stream, later)
        return bound.plan.merged(outputs[: len(outputs) - then.passed], rest)

    def outputs(self, bound: BoundPlan, places: Sequence[Place] | None) -> list[View]:
        """Where a plan's outputs go; those that only later plans read get memory in any case."""
        device = self.device
        own = [] if places is None else bound.plan.own(places)
        found = [
            View(address, shape, dtype, device)
            for (address, _), (shape, dtype) in zip(own, bound.results, strict=False)
        ]
        check_places(bound, own)
        for index, (shape, dtype) in enumerate(bound.results[len(own) :], len(own)):
            found.append(self.allocator.output(index, shape, dtype, device))
        return found

    def next(
        self, bound: BoundPlan, then: Then, addresses: Sequence[int], stream: int
    ) -> tuple[NextProgram, list[int]]:
        """The program of what follows a plan that ran at these addresses, and its inputs' own."""
        plan = bound.plan
        at = dict(zip((*plan.inputs, *plan.outputs), addresses, strict=True))
        at |= self.constants(bound)
        sizes = read_sizes(then, at, bound.sizes, self.device, stream)
        return self.program(bound, then, sizes), [at[each] for each in then.forwarded]

    def program(self, before: BoundPlan, then: Then, sizes: Mapping[str, int]) -> NextProgram:
        """The program of a plan that follows another one, at the sizes that are known by now."""
        plan = self.plans[then.plan]
        key = then.plan, tuple(sizes[name] for name in plan.given)
        with self.lock:
            found = self.programs.get(key)
            if found is None:
                bound = body(plan, sizes, self.plans)
                check_forwarded(before, then, bound)
                found = self.programs[key] = self.load(then.plan, bound)
                if len(self.programs) > SIZES_KEPT:
                    self.programs.popitem(last=False)
            else:
                self.programs.move_to_end(key)
        return found


def check_places(bound: BoundPlan, places: Sequence[Place]) -> None:
    """Refuse a body that writes other bytes than there is place for."""
    here = [nbytes for _, nbytes in places]
    there = [bound.nbytes(number) for number in bound.plan.outputs[: len(here)]]
    if here != there:
        raise BadArchive(f"a body gives {there} bytes, where its step has place for {here}")
