"""The shapes that a compiled model takes, in the user's words: names of inputs and of sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import sympy
import torch
from torch.export import ExportedProgram
from torch.utils._sympy.numbers import int_oo

from hidet.errors import BadArgument, Place, ShapeMismatch, input_called
from hidet.graph.axis_guard import AxisGuard
from hidet_torch.importing.size_names import size_names
from hidet_torch.importing.sizes import Sizes
from hidet_torch.importing.slices import is_symbolic

Known: TypeAlias = dict[sympy.Symbol, tuple[sympy.Integer, str]]
"""Symbols whose numbers a call tells, and the input that does."""

Range: TypeAlias = tuple[float, float]
"""The least and the greatest number that a size may be."""

ANY: Range = (0, float("inf"))

SPECIALIZED = 2
"""PyTorch traces symbolic sizes as 2 or more, and lets what it traced take 0 and 1 all the same."""


class Accepted:
    """The inputs of an exported program: what they are called, their types and their sizes.

    `places` are those of the inputs among the program's placeholders.
    """

    def __init__(self, program: ExportedProgram, places: Sequence[int]) -> None:
        nodes = program.graph_module.graph.find_nodes(op="placeholder")
        self.sizes = Sizes(size_names(nodes))
        self.inputs = [nodes[place].name for place in places]
        self.examples = [nodes[place].meta.get("val") for place in places]
        self.kinds = [kind_of(each) for each in self.examples]
        ranges = bounds(program.range_constraints)
        self.size_limits = {
            self.sizes.name(symbol): (int(low), None if high == ANY[1] else int(high))
            for symbol, (low, high) in ranges.items()
            if isinstance(symbol, sympy.Symbol) and (low, high) != ANY
        }
        """The sizes that may not be any number, by name; None: no number is too large."""
        self.varying = [
            (place, example.ndim, [(axis, *ranges.get(e, ANY)) for axis, e in symbolic(example)])
            for place, example in enumerate(self.examples)
            if isinstance(example, torch.Tensor) and symbolic(example)
        ]
        """Inputs of symbolic sizes: how many axes, and the ranges of those."""

    def check(self, flat: Sequence[Any]) -> None:
        """Raise unless the inputs have the types compiled for, and sizes within their ranges.

        Whether sizes agree with each other the runtime checks; `explain` says which do not.
        """
        for place, (value, kind) in enumerate(zip(flat, self.kinds, strict=True)):
            if kind_of(value) != kind or kind is None:
                check_type(self.inputs[place], value, self.examples[place])
        for place, ndim, axes in self.varying:
            shape = flat[place].shape
            if len(shape) != ndim:
                raise self.refused(place, flat[place])
            for axis, low, high in axes:
                if not low <= shape[axis] <= high:
                    raise self.refused(place, flat[place], self.limits(place, axis, low, high))

    def explain(self, flat: Sequence[Any], guards: Sequence[AxisGuard] = ()) -> None:
        """Raise what is wrong with the inputs' shapes, if anything is.

        `guards` say of sizes that PyTorch tells apart that operators need them to be equal.
        """
        known = self.known(flat)
        for place, example in enumerate(self.examples):
            if isinstance(example, torch.Tensor):
                shape = tuple(flat[place].shape)
                if len(shape) != example.ndim:
                    raise self.refused(place, flat[place])
                for given, size in zip(shape, example.shape, strict=True):
                    if differs(given, size, known):
                        raise self.refused(place, flat[place], self.described(size, known))
        numbers = {self.sizes.name(each): int(number) for each, (number, _) in known.items()}
        for guard in guards:
            size = guard.tensor.shape[guard.axis]
            needed = size if isinstance(size, int) else numbers.get(getattr(size, "name", ""))
            if needed is not None and numbers.get(guard.symbol, needed) != needed:
                place = self.inputs.index(guard.tensor.name)
                reason = f"{guard.symbol} has to be {getattr(size, 'name', size)}, {needed} here"
                raise self.refused(place, flat[place], reason, guard.place)

    def known(self, flat: Sequence[Any]) -> Known:
        """The sizes that inputs tell by themselves."""
        found: Known = {}
        for name, value, example in zip(self.inputs, flat, self.examples, strict=True):
            for given, size in zip(sizes_of(value), sizes_of(example), strict=False):
                if is_symbolic(size) and isinstance(size.node.expr, sympy.Symbol):
                    found.setdefault(size.node.expr, (sympy.Integer(given), name))
        return found

    def refused(
        self, place: int, value: torch.Tensor, reason: str = "", needed: Place | None = None
    ) -> ShapeMismatch:
        """The error of an input whose shape is not taken; an operator at `needed` says why."""
        example = self.examples[place]
        kind = str(example.dtype).removeprefix("torch.")
        given, wanted = (", ".join(map(self.spelled, each.shape)) for each in (value, example))
        name = input_called(self.inputs[place])
        return ShapeMismatch(
            f"{name} is {kind}[{given}]; the graph takes {kind}[{wanted}]"
            + (f", where {reason}" if reason else ""),
            place=needed,
        )

    def limits(self, place: int, axis: int, low: float, high: float) -> str:
        """The sizes that an axis may have."""
        each = [f"at least {low}"] * (low > 0) + [f"at most {high}"] * (high != float("inf"))
        return f"{self.spelled(self.examples[place].shape[axis])} is {' and '.join(each)}"

    def described(self, size: Any, known: Known) -> str:
        """The numbers that a size follows from, and which inputs have them."""
        symbols = size.node.expr.free_symbols if is_symbolic(size) else ()
        each = [(self.sizes.name(symbol), *known[symbol]) for symbol in symbols if symbol in known]
        return " and ".join(f"{name} is {value}, as in {where}" for name, value, where in each)

    def spelled(self, size: Any) -> str:
        """A size as the user would write it: `2*batch`."""
        if not is_symbolic(size):
            return str(size)
        e = size.node.expr
        return str(e.xreplace({s: sympy.Symbol(self.sizes.name(s)) for s in e.free_symbols}))


def symbolic(example: torch.Tensor) -> list[tuple[int, Any]]:
    """The axes whose sizes vary, with those as expressions."""
    return [(axis, n.node.expr) for axis, n in enumerate(example.shape) if is_symbolic(n)]


def differs(given: int, size: Any, known: Known) -> bool:
    """Whether a size is another one than compiled for, or than the symbols say that are known."""
    if not is_symbolic(size):
        return bool(given != size)
    expected = size.node.expr.xreplace({symbol: value for symbol, (value, _) in known.items()})
    return bool(expected.is_number and expected != given)


def kind_of(value: Any) -> tuple[torch.dtype, torch.device, torch.layout] | None:
    """The element type, the device and the layout of a tensor."""
    if not isinstance(value, torch.Tensor):
        return None
    return value.dtype, value.device, value.layout


def sizes_of(value: Any) -> tuple[Any, ...]:
    """What an input tells of sizes: the shape of a tensor, or the number that it is."""
    return tuple(value.shape) if isinstance(value, torch.Tensor) else (value,)


def bounds(ranges: Mapping[Any, Any]) -> dict[Any, Range]:
    """The least and the greatest number that each size may be."""
    found: dict[Any, Range] = {}
    for size, each in ranges.items():
        low = 0 if each.lower <= SPECIALIZED else int(each.lower)
        high = float("inf") if each.upper in (int_oo, sympy.oo) else int(each.upper)
        found[size] = (low, high)
    return found


def check_type(called: str, value: Any, example: Any) -> None:
    """Raise unless an input is of the type that the model was compiled for."""
    name = input_called(called)
    if isinstance(example, torch.Tensor):
        if not isinstance(value, torch.Tensor):
            raise BadArgument(f"{name} is {type(value).__name__}, compiled for a tensor")
        given, wanted = (
            f"{each.dtype} on {each.device}"
            + ("" if each.layout == torch.strided else f", {each.layout}")
            for each in (value, example)
        )
        if given != wanted:
            raise BadArgument(f"{name} is {given}, compiled for {wanted}")
    elif not isinstance(example, torch.SymInt) and value != example:
        raise BadArgument(f"{name} is {value!r}, compiled for {example!r}")
