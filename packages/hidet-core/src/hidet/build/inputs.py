"""Inputs of a compiled graph's calls: put in order, seen as kernels read them, copied if they
have gaps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hidet.build.arguments import Glance, glance
from hidet.build.packing import copy_notice, packed
from hidet.build.permuted import permuted
from hidet.errors import BadArgument, input_called
from hidet.errors.warning import warn
from hidet.runtime.binding.bound import called, check_count
from hidet.runtime.plans.plan import Plan
from hidet.types.strides import inverse


class CopyWarning(UserWarning):
    """An input is copied at each call, as it lies in other ways than the graph reads it."""


class Inputs:
    """Inputs of a plan's calls; `orders` are the axes in which kernels read some of them."""

    def __init__(self, plan: Plan, orders: Mapping[int, tuple[int, ...]]) -> None:
        self.plan, self.orders = plan, orders
        self.copied = 0
        """How many inputs were copied because they do not lie as the graph reads them."""
        self.noticed: set[int] = set()
        """The positions of inputs whose copies a warning said."""

    def ordered(self, inputs: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """Inputs that are given by their names after those that are given in order."""
        names = self.plan.input_names
        for name in named:
            if name not in names:
                raise BadArgument(f"there is no input {name!r}", help=f"inputs: {listed(names)}")
            if name in names[: len(inputs)]:
                raise BadArgument(f"{input_called(name)} is given twice")
        missing = [each for each in names[len(inputs) :] if each not in named]
        if missing:
            raise BadArgument(f"there is no value for {listed(missing)}")
        return [*inputs, *(named[each] for each in names[len(inputs) :])]

    def as_lying(self, inputs: Sequence[Any]) -> list[Any]:
        """The inputs with their axes in the orders in which the graph reads them."""
        found = list(inputs)
        for position, order in self.orders.items():
            if position < len(found):
                found[position] = permuted(found[position], order)
        return found

    def without_gaps(
        self, inputs: Sequence[Any], gaps: Sequence[int], threads: Callable[[], int]
    ) -> list[Any]:
        """The inputs, copied where there are gaps between elements: by so many `threads`."""
        given = list(inputs)
        for position in gaps:
            self.notice(position, inputs[position])
            given[position] = packed(inputs[position], threads)
            if given[position] is None:
                raise BadArgument(
                    f"{input_called(self.called(position))} has gaps between its elements",
                    help="copy it first",
                )
        self.copied += len(gaps)
        return given

    def notice(self, position: int, value: Any) -> None:
        """Say once that an input is copied."""
        if position not in self.noticed:
            self.noticed.add(position)
            order = self.orders.get(position, range(len(value.shape)))
            called = input_called(self.called(position))
            warn(CopyWarning(copy_notice(called, value, order)))

    def seen(self, value: Any, position: int) -> Glance:
        """An input at a glance."""
        found = glance(value)
        if found is None:
            check_count(self.plan, max(position + 1, len(self.plan.inputs)))
            raise BadArgument(
                f"{input_called(self.called(position))} is a {type(value).__name__}, no tensor",
                help="`hidet.asarray` makes one of numbers",
            )
        return found

    def shape(self, position: int, lies: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of an input as its caller sees it."""
        order = self.orders.get(position, ())
        if len(order) != len(lies):  # of other rank, which was left as it is
            return lies
        return tuple(lies[axis] for axis in inverse(order))

    def called(self, position: int) -> str:
        """What users call an input; its number if there are not so many."""
        return called(self.plan, position) if position < len(self.plan.inputs) else str(position)


def listed(names: Sequence[str]) -> str:
    """Names of inputs for a message."""
    return ", ".join(names) or "none"
