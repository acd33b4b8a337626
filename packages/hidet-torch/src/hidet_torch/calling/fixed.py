"""Calls of graphs that take and give plain tensors of fixed sizes, with little work on the host.

Most graphs are such. A small model's call lasts as long as the host needs for it, so nothing is
looked up here that can be known before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import call, or_
from typing import Any

import torch
from torch._prims_common import make_contiguous_strides_for

from hidet.frontend.running.execute import Runner, View
from hidet.types.strides import inverse
from hidet_torch.calling.input_check import like, unlike
from hidet_torch.importing.foreign import numbers
from hidet_torch.importing.imported import Interface, LiveInput, Output
from hidet_torch.memory.dtypes import TO_TORCH
from hidet_torch.memory.results import Layout, maker
from hidet_torch.weights.weight import ALIGNMENT
from hidet_torch.weights.weights import Weights

Boxed = Callable[[list[Any]], list[Any]]
Quick = Callable[[Sequence[torch.Tensor]], "list[Any] | None"]
"""Takes inputs that a `FixedCall` takes; None if one of them is not aligned."""
address_of = torch.Tensor.data_ptr


@dataclass(frozen=True)
class FixedCall:
    """What a call needs to know: where the inputs are, what the outputs look like."""

    inputs: Sequence[tuple[int, tuple[int, ...]]]
    views: Sequence[View]
    """The inputs as the runtime knows them, without addresses."""
    outputs: Sequence[Layout]
    results: Sequence[tuple[int, tuple[int, ...] | None]]
    """The number of the graph's output for each result, and how its axes are permuted."""
    may_repeat: bool
    """Whether nothing but the outputs is written, so that a call may run twice."""

    def on(self, runner: Runner, weights: Weights, device: str, stream: Callable[[], int]) -> Quick:
        """The call of a runner, given the inputs in order.

        Weights that only others are derived from are looked at while the device is at work: where
        one did change, the call runs again.
        """
        results = self.results
        in_order = results == [(number, None) for number in range(len(self.outputs))]
        makers = [maker(each, device) for each in self.outputs]
        run = self.launching(runner, weights, device, stream)
        if in_order and len(makers) == 1:
            return for_one(makers[0], run)

        def quick(given: Sequence[torch.Tensor]) -> list[Any] | None:
            addresses = [*map(address_of, given)]
            if reduce(or_, addresses, 0) % ALIGNMENT:
                return None
            made = [*map(call, makers)]
            addresses += map(address_of, made)
            run(addresses)
            if in_order:
                return made
            return [
                made[index] if axes is None else made[index].permute(axes)
                for index, axes in results
            ]

        return quick

    def launching(
        self, runner: Runner, weights: Weights, device: str, stream: Callable[[], int]
    ) -> Callable[[list[int]], object]:
        """What runs kernels on inputs and outputs at addresses, weights as they are then."""
        check, changed = weights.check_read, weights.changed
        if not self.may_repeat:
            check, changed = weights.check, never
        epoch, program = runner.epoch, runner.program(self.views)
        if self.may_repeat and not weights.by_tensor:
            if device == "cpu":
                return program
            return lambda addresses: program(addresses, stream())

        def run(addresses: list[int]) -> None:
            nonlocal epoch, program
            check()
            if runner.epoch != epoch:
                epoch, program = runner.epoch, runner.program(self.views)
            seen = weights.seen
            program(addresses, stream())
            if changed(seen):
                weights.update()
                epoch, program = runner.epoch, runner.program(self.views)
                program(addresses, stream())

        return run

    def boxed(self, quick: Quick, slow: Boxed) -> Boxed:
        """The same call of a list of arguments; those that lie otherwise than usual take the `slow`
        one."""
        positions, alike = [position for position, _ in self.inputs], unlike

        def call(boxed: list[Any]) -> list[Any]:
            nonlocal alike
            given = [boxed[position] for position in positions]
            if not alike(*given):
                if not self.takes(given):
                    return slow(boxed)
                alike = like(given)
            found = quick(given)
            if found is None:
                return slow(boxed)
            boxed.clear()
            return found

        return call

    def takes(self, given: Sequence[torch.Tensor]) -> bool:
        """Whether inputs are used as they are."""
        shapes = (shape for _, shape in self.inputs)
        return all(map(is_usual, given, shapes))


def for_one(make: Callable[[], torch.Tensor], run: Callable[[list[int]], object]) -> Quick:
    """The call of a graph of one result, as most are."""

    def quick(given: Sequence[torch.Tensor]) -> list[Any] | None:
        addresses = [*map(address_of, given)]
        if reduce(or_, addresses, 0) % ALIGNMENT:
            return None
        made = make()
        addresses.append(made.data_ptr())
        run(addresses)
        return [made]

    return quick


def is_usual(tensor: torch.Tensor, shape: tuple[int, ...]) -> bool:
    """Whether an argument is used as it is: in rows, and no sign is still to be changed."""
    return tensor.shape == shape and tensor.is_contiguous() and not tensor.is_neg()


def never(seen: object) -> bool:
    """Nothing is left to look at."""
    return False


def fixed_call(interface: Interface) -> FixedCall | None:
    """The call of a graph whose inputs and outputs are plain tensors of fixed sizes, else None."""
    if interface.symbols or interface.carriers or interface.mutations:
        return None
    if interface.calls and interface.device != "cpu":  # PyTorch's own stream is the call's there
        return None
    if interface.has_data_sizes:
        return None
    if not all(is_plain_input(each, interface.device) for each in interface.inputs):
        return None
    outputs = layouts(interface)
    if outputs is None:
        return None
    inputs = [(each.position, shape_of(each)) for each in interface.inputs]
    views = [
        View(0, shape_of(each), each.tensor.dtype.name, interface.device)
        for each in interface.inputs
    ]
    results = [
        (each.index, None if in_rows(each.order) else inverse(each.order))
        for each in interface.outputs
        if each.index is not None
    ]
    may_repeat = not (interface.updates or interface.calls)
    return FixedCall(inputs, views, outputs, results, may_repeat)


def is_plain(interface: Interface) -> bool:
    """Whether nothing but fresh tensors comes out of a graph, which writes to no argument."""
    fresh = all(each.alias is None and each.index is not None for each in interface.outputs)
    return fresh and not (interface.mutations or interface.updates)


def layouts(interface: Interface) -> list[Layout] | None:
    """What the graph's outputs look like as results, if each is one plain result."""
    found: dict[int, Layout] = {}
    for each in interface.outputs:
        if each.index is None or each.shape is None or not is_plain_output(each):
            return None
        of = TO_TORCH[interface.dtypes[each.index]]
        shape = tuple(map(int, numbers(each.shape, {})))
        layout = (shape, tuple(make_contiguous_strides_for(shape)), of)
        if found.setdefault(each.index, layout) != layout:
            return None
    count = len(interface.dtypes) - len(interface.updates)  # what is updated does not come out
    return [found[n] for n in range(count)] if len(found) == count else None


def is_plain_input(live: LiveInput, device: str) -> bool:
    """Whether an argument is used as it is, if it lies in rows."""
    return in_rows(live.order) and live.device == device and not live.complex


def is_plain_output(output: Output) -> bool:
    """Whether a result is a fresh tensor without gaps."""
    return output.alias is None and not output.complex


def in_rows(order: Sequence[int]) -> bool:
    """Whether the axes lie as they are counted."""
    return list(order) == list(range(len(order)))


def shape_of(live: LiveInput) -> tuple[int, ...]:
    """The sizes of an input as numbers."""
    shape = [size for size in live.tensor.shape if isinstance(size, int)]
    assert len(shape) == len(live.tensor.shape), "a graph without symbols has fixed sizes"
    return tuple(shape)
