"""Operators that stay in PyTorch: what to call, and with which values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from hidet.frontend.running.execute import HostStep, Place, View
from hidet.frontend.running.regions import Region
from hidet_torch.memory.tensors import tensor_at
from hidet_torch.weights.weight import ALIGNMENT

Symbols: TypeAlias = dict[str, int]

Run: TypeAlias = Callable[[list[Any], Symbols], None]
"""Runs an instruction on the values so far, to which it adds its own."""

Fetch: TypeAlias = Callable[[list[Any], Symbols], Any]
"""Fills in an argument from the values so far."""

SYMBOLS: ContextVar[Symbols] = ContextVar("symbols", default={})  # noqa: B039
"""The sizes of the call under way, for the regions that PyTorch runs."""


@dataclass(frozen=True)
class Slot:
    """Stands for value number `position` among a call's arguments.

    `strides` say how the operator expects it to lie, None: that does not matter.
    """

    position: int
    is_complex: bool
    strides: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Number:
    """Stands for a symbolic number among a call's arguments: `read` finds it in the symbols."""

    read: Callable[[Symbols], Any]


@dataclass(frozen=True)
class Instruction:
    """One call of an operator; `results` says which of its flat results have numbers."""

    target: Callable[..., Any]
    args: Any
    kwargs: Any
    results: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class ForeignCall:
    """Calls of PyTorch's operators one after the other.

    Values have numbers: first the `operands`, which lie in rows, then what each instruction gives.
    `results` are the numbers of those that come out.
    """

    operands: int
    instructions: tuple[Instruction, ...]
    results: tuple[int, ...]


def as_step(region: Region) -> HostStep:
    """What runs several calls of PyTorch's as one."""
    return ForeignStep(together(region))


def together(region: Region) -> ForeignCall:
    """One call of all of a region's, whose steps are `ForeignStep`s."""
    values = list(range(region.operands))  # the number here of each value of the region
    count = region.operands
    found: list[Instruction] = []
    for host, reads in zip(region.calls, region.reads, strict=True):
        assert isinstance(host.step, ForeignStep), "PyTorch's steps are"
        call = host.step.call
        number = [values[each] for each in reads]
        for each in call.instructions:
            found.append(renumbered(each, number))
            number += range(count, count + len(each.results))
            count += len(each.results)
        values += [number[each] for each in call.results]
    return ForeignCall(region.operands, tuple(found), tuple(values[n] for n in region.results))


def renumbered(instruction: Instruction, number: Sequence[int]) -> Instruction:
    """The instruction where values have other numbers."""

    def other(slot: Slot) -> Slot:
        return replace(slot, position=number[slot.position])

    args, kwargs = tree_map_only(Slot, other, (instruction.args, instruction.kwargs))
    return replace(instruction, args=args, kwargs=kwargs)


class ForeignStep:
    """A call of PyTorch's as a step of the plan; what is the same each time is found out once."""

    def __init__(self, call: ForeignCall) -> None:
        self.call = call

    def __call__(self, reads: Sequence[View], writes: Sequence[View]) -> None:
        symbols = SYMBOLS.get()
        # What keeps calls with effects in order comes after the operands.
        values: list[Any] = [workspace(view) for view in reads[: self.call.operands]]
        with torch.no_grad():
            for run in self.runs:
                run(values, symbols)
            for view, number in zip(writes, self.call.results, strict=False):
                result = values[number]
                if result is None:  # as for a backward pass that nobody reads
                    continue
                if isinstance(view, Place) and may_stay(result, reads):
                    view.elsewhere = left_at(view, result)
                else:
                    write(view, result)

    @cached_property
    def runs(self) -> list[Run]:
        """What runs each instruction, and drops the values that nobody reads after it."""
        call = self.call
        last: dict[int, int] = {}
        for place, each in enumerate(call.instructions):
            read = [leaf for leaf in leaves_of(each) if isinstance(leaf, Slot)]
            last.update((slot.position, place) for slot in read)
        for number in call.results:
            last.pop(number, None)
        drops: dict[int, list[int]] = {}
        for number, place in last.items():
            drops.setdefault(place, []).append(number)
        return [
            runner(each, call.operands, drops.get(place, ()))
            for place, each in enumerate(call.instructions)
        ]


def runner(instruction: Instruction, operands: int, drops: Sequence[int]) -> Run:
    """What runs an instruction on all values so far, of which the first ones are operands."""
    target, results = instruction.target, instruction.results
    args = [fetcher(each, operands) for each in instruction.args]
    kwargs = {name: fetcher(each, operands) for name, each in instruction.kwargs.items()}

    def run(values: list[Any], symbols: Symbols) -> None:
        given = [fetch(values, symbols) for fetch in args]
        found = target(*given, **{name: fetch(values, symbols) for name, fetch in kwargs.items()})
        if isinstance(found, torch.Tensor) and results == (0,):
            values.append(found)
        else:
            flat = tree_leaves(found)
            values.extend(flat[place] for place in results)
        for number in drops:
            values[number] = None

    return run


def fetcher(value: Any, operands: int) -> Fetch:
    """What fills in an argument for a call."""
    match value:
        case Slot():
            return slot_fetcher(value, operands)
        case Number():
            return lambda values, symbols: value.read(symbols)
        case list() | tuple() if any(isinstance(e, Slot | Number) for e in tree_leaves(value)):
            parts = [fetcher(each, operands) for each in value]
            return lambda values, symbols: [fetch(values, symbols) for fetch in parts]
        case dict():
            named = {key: fetcher(each, operands) for key, each in value.items()}
            return lambda values, symbols: {k: f(values, symbols) for k, f in named.items()}
    return lambda values, symbols: value


def slot_fetcher(slot: Slot, operands: int) -> Fetch:
    """What finds a value: an operand under its own shape, what an instruction gave as it is."""
    position = slot.position
    is_pairs, has_strides = slot.is_complex and position < operands, slot.strides is not None

    def fetch(values: list[Any], symbols: Symbols) -> Any:
        own = values[position]
        if is_pairs:
            own = torch.view_as_complex(own)
        return laid(own, numbers(slot.strides or (), symbols)) if has_strides else own

    return fetch


def leaves_of(instruction: Instruction) -> list[Any]:
    """Everything among an instruction's arguments."""
    return tree_leaves((instruction.args, instruction.kwargs))


def numbers(values: Sequence[Any], symbols: Symbols) -> list[Any]:
    """Each value as a number."""
    return [each.read(symbols) if isinstance(each, Number) else each for each in values]


def shaped(tensor: torch.Tensor, dtype: torch.dtype, shape: Sequence[int]) -> torch.Tensor:
    """Memory in rows as the tensor that was traced: it may come under the shape that its elements
    had before they were given another one, and complex numbers are pairs."""
    if dtype.is_complex:
        return torch.view_as_complex(tensor.view(*shape, 2))
    return tensor.view(shape)


def workspace(view: View) -> torch.Tensor:
    """Memory of a plan as a tensor."""
    return known_workspace(view.pointer, view.shape, view.dtype, view.device)


known_workspace = lru_cache(maxsize=256)(tensor_at)
"""Making a tensor takes longer than small operators do, and workspaces lie in the same places in
each call. A tensor whose memory is gone is one that nobody asks for."""


def laid(own: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """The tensor with the strides that the operator was traced with."""
    if list(own.stride()) == list(strides) or (own.is_contiguous() and not own.numel()):
        return own
    if 0 in strides:
        return own.expand(own.shape)  # an expanded tensor's copies are equal; nobody writes to it
    return torch.empty_strided(own.shape, strides, dtype=own.dtype, device=own.device).copy_(own)


def may_stay(result: torch.Tensor, reads: Sequence[View]) -> bool:
    """Whether a result may be read where it lies: in rows, and not in an operand's memory, which
    others are given after this call."""
    if result.is_conj() or result.is_neg() or not result.is_contiguous():
        return False
    base = result.untyped_storage().data_ptr()
    return result.data_ptr() % ALIGNMENT == 0 and all(view.pointer != base for view in reads)


def left_at(view: View, result: torch.Tensor) -> View:
    """The view of a result that stays where it lies."""
    return View(result.data_ptr(), view.shape, view.dtype, view.device, result)


def write(view: View, result: torch.Tensor) -> None:
    """Copy a result to where it is to lie: in rows, a complex one as pairs."""
    shaped(workspace(view), result.dtype, result.shape).copy_(result)
