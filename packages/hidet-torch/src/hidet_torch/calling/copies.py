"""Inputs that calls copy, since they lie otherwise than the examples did: each is told once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hidet.build.inputs import CopyWarning
from hidet.build.packing import copy_notice
from hidet.errors import input_called
from hidet.errors.warning import warn
from hidet_torch.importing.imported import LiveInput


class Copies:
    """What calls tell of the inputs `names`, which are the arguments at `places`."""

    def __init__(
        self, inputs: Sequence[LiveInput], places: Sequence[int], names: Sequence[str]
    ) -> None:
        at = {place: number for number, place in enumerate(places)}
        known = [(at[each.position], each.order) for each in inputs if each.position in at]
        self.left = {number: (names[number], order) for number, order in known}
        """The name and the order of each input of which nothing was told yet, by its number."""

    def look(self, flat: Sequence[Any]) -> None:
        """Tell of the inputs of a call that are copied."""
        for number, (name, order) in [*self.left.items()]:
            value = flat[number].permute(order)
            if not value.is_contiguous():
                del self.left[number]
                warn(CopyWarning(copy_notice(input_called(name), value, order)))
