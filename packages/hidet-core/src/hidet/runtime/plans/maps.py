"""Tensor maps as arguments of launches: plain data, checked on reading and on binding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hidet.errors import BadArchive, BadArgument
from hidet.runtime.plans.sizes import Size, checked_size, evaluate
from hidet.types import DTYPES, Im2col, TensorMapType, Tile, dtype
from hidet.types.tensor_map import check_tensor


@dataclass(frozen=True)
class Map:
    """An argument: the tensor map of a buffer seen as a tensor of `shape`.

    `strides` are the elements between neighbours along each axis but the last.
    """

    buffer: int
    dtype: str
    box: Tile | Im2col
    swizzle: str
    promotion: str
    fill: str
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]

    @property
    def of(self) -> TensorMapType:
        """Which boxes are moved, in what form."""
        return TensorMapType(dtype(self.dtype), self.box, self.swizzle, self.promotion, self.fill)

    @property
    def numbers(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The sizes, and the strides in bytes, of a map that is bound."""
        width = dtype(self.dtype).nbytes
        shape = tuple(size for size in self.shape if isinstance(size, int))
        strides = tuple(stride * width for stride in self.strides if isinstance(stride, int))
        assert len(shape) == len(self.shape), "a bound plan has numbers only"
        return shape, strides


def map_of(of: TensorMapType, buffer: int, shape: Sequence[Any], strides: Sequence[Any]) -> Map:
    """The argument of a tensor map of a type."""
    form = of.dtype.name, of.box, of.swizzle, of.promotion, of.fill
    return Map(buffer, *form, tuple(shape), tuple(strides))


def fixed(map: Map, symbols: Mapping[str, int], name: str, nbytes: int | None) -> Map:
    """A map with every size a number; BadTensorMap if memory of `nbytes` bytes is none for it."""
    shape = tuple(evaluate(size, symbols) for size in map.shape)
    strides = tuple(evaluate(stride, symbols) for stride in map.strides)
    bound = replace(map, shape=shape, strides=strides)
    check_tensor(map.of, name, *bound.numbers, nbytes)
    return bound


def read_map(fields: Mapping[str, Any], buffer: int, symbols: Mapping[str, Any], where: str) -> Map:
    """The map that a plan's data describes; BadArchive says where it is none."""
    box = fields.get("box")
    if not isinstance(box, dict) or set(box) not in (TILE, COLUMNS):
        raise BadArchive(f"{where} has a tensor map without a box")
    made = Tile(**whole(box, where)) if set(box) == TILE else Im2col(**whole(box, where))
    kind, *form = (
        text(fields.get(name), where) for name in ("dtype", "swizzle", "promotion", "fill")
    )
    if kind not in NAMES:
        raise BadArchive(f"{where} has a tensor map of {kind!r}, which is no element type")
    swizzle, promotion, fill = form
    shape, strides = (
        checked_sizes(fields.get(name), lambda each: checked_size(each, symbols, where), where)
        for name in ("shape", "strides")
    )
    found = Map(buffer, kind, made, swizzle, promotion, fill, shape, strides)
    try:
        of = found.of
    except BadArgument as error:
        raise BadArchive(f"{where} has an impossible tensor map: {error.message}") from error
    if len(found.shape) != of.rank or len(found.strides) != of.rank - 1:
        raise BadArchive(f"{where} has a tensor map of {of.rank} axes with other sizes")
    return found


NAMES = {each.name for each in DTYPES}
TILE = {"sizes", "steps"}
COLUMNS = {"pixels", "channels", "lower", "upper", "steps"}


def whole(box: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A box's numbers, and tuples of numbers."""
    found: dict[str, Any] = {}
    for name, value in box.items():
        several = name not in ("pixels", "channels")
        values = value if several else [value]
        good = isinstance(values, list | tuple) and len(values) <= 5
        if not good or not all(type(each) is int for each in values):
            raise BadArchive(f"{where} has {str(value)[:80]} where the {name} of a box belong")
        found[name] = tuple(values) if several else value
    return found


def text(data: Any, where: str) -> str:
    """A short text."""
    if not isinstance(data, str) or len(data) > 64:
        raise BadArchive(f"{where} has {str(data)[:80]} where a text belongs")
    return data


def checked_sizes(data: Any, one: Callable[[Any], Size], where: str) -> tuple[Size, ...]:
    """A few sizes."""
    if not isinstance(data, list | tuple) or len(data) > 5:
        raise BadArchive(f"{where} has {str(data)[:80]} where sizes of a tensor map belong")
    return tuple(one(each) for each in data)
