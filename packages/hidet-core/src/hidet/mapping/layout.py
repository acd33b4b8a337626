"""Layouts: where data lies. A shape and strides, both possibly nested, take coordinates to offsets.

A layout is also a function of one linear index, which counts through the coordinates with the
*first* mode fastest. As functions, layouts compose, divide and have inverses. Calling a layout
works on integers and expressions; the algebra itself needs integer shapes and strides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product as every
from math import prod
from typing import Any, TypeAlias

from hidet.errors import BadArgument
from hidet.mapping.digits import Scalar, added, digits, scaled
from hidet.mapping.draw import Cells, draw

Tree: TypeAlias = Any
"""A number, or a tuple of trees."""


@dataclass(frozen=True)
class Layout:
    """A function from coordinates within `shape` to offsets, by the inner product with `stride`."""

    shape: Tree
    stride: Tree

    def __post_init__(self) -> None:
        if not _congruent(self.shape, self.stride):
            raise BadArgument(
                f"shape {self.shape} and stride {self.stride} are nested differently",
                help="give one stride for each extent",
            )
        if any(isinstance(extent, int) and extent < 1 for extent in _leaves(self.shape)):
            raise BadArgument(f"a layout's extents are positive, not {self.shape}")

    def __call__(self, *coordinates: Tree) -> Scalar:
        """The offset at one linear index, or at one coordinate for each mode."""
        coordinate = coordinates[0] if len(coordinates) == 1 else coordinates
        if len(coordinates) == 1 and self.rank == 1 and isinstance(self.shape, tuple):
            coordinate = coordinate if isinstance(coordinate, tuple) else coordinates
        return _offset(coordinate, self.shape, self.stride)

    @property
    def rank(self) -> int:
        """The number of top-level modes."""
        return len(self.shape) if isinstance(self.shape, tuple) else 1

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return prod(_leaves(self.shape))

    @property
    def cosize(self) -> int:
        """One more than the largest offset."""
        return 1 + sum((n - 1) * max(d, 0) for n, d in self.modes())

    def modes(self) -> list[tuple[int, int]]:
        """The extents and strides without nesting, fastest first."""
        return list(zip(_leaves(self.shape), _leaves(self.stride), strict=True))

    def __iter__(self) -> Iterator["Layout"]:
        """The top-level modes, each a layout."""
        if not isinstance(self.shape, tuple):
            return iter([self])
        return map(Layout, self.shape, self.stride)

    def coalesce(self) -> "Layout":
        """The same function of the linear index with as few modes as possible."""
        found: list[tuple[int, int]] = []
        for extent, stride in self.modes():
            if extent == 1:
                continue
            if found and found[-1][0] * found[-1][1] == stride:
                found[-1] = (found[-1][0] * extent, found[-1][1])
            else:
                found.append((extent, stride))
        return _flat(found)

    def permute(self, *order: int) -> "Layout":
        """The top-level modes in another order: mode `k` of the result is mode `order[k]` here."""
        if sorted(order) != list(range(self.rank)):
            raise BadArgument(f"{order} is not a permutation of the {self.rank} modes of {self}")
        return joined(*(list(self)[mode] for mode in order))

    def is_injective(self) -> bool:
        """Whether no two coordinates share an offset."""
        return len({self(index) for index in range(self.size)}) == self.size

    def cells(self) -> Cells:
        """The offset at each top-level coordinate."""
        extents = tuple(mode.size for mode in self)
        return Cells(extents, {at: str(self(*at)) for at in every(*map(range, extents))})

    def draw(self) -> str:
        """A text grid of the offsets."""
        return draw(self)

    def __str__(self) -> str:
        return f"{self.shape}:{self.stride}"


def row_major(*shape: Scalar) -> Layout:
    """Packed, with the last coordinate contiguous."""
    strides: list[Scalar] = []
    step: Scalar = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step = scaled(extent, step)
    return Layout(shape, tuple(strides))


def column_major(*shape: Scalar) -> Layout:
    """Packed, with the first coordinate contiguous."""
    return Layout(shape, row_major(*reversed(shape)).stride[::-1])


def joined(*modes: Layout) -> Layout:
    """The layout that has `modes` as its top-level modes; offsets add up."""
    return Layout(tuple(mode.shape for mode in modes), tuple(mode.stride for mode in modes))


def compose(outer: Layout, inner: Layout) -> Layout:
    """The layout that takes `i` to `outer(inner(i))`, in the shape of `inner`.

    `BadArgument` where no layout does so: an extent of `outer` cuts a stride or extent of `inner`
    in uneven pieces, or `inner` reaches beyond `outer`.
    """
    if isinstance(inner.shape, tuple):
        return joined(*(compose(outer, mode) for mode in inner))
    found: list[tuple[int, int]] = []
    extent, stride = inner.shape, inner.stride
    for available, step in outer.coalesce().modes():
        if (extent - 1) * stride < available:
            return _flat([*found, (extent, stride * step)])
        if stride % available == 0:
            stride //= available
            continue
        taken, rest = divmod(available, stride)
        if rest or extent % taken:
            raise BadArgument(f"{outer} after {inner} is not a layout: {available} does not divide")
        found.append((taken, stride * step))
        extent, stride = extent // taken, 1
    raise BadArgument(f"{inner} reaches beyond {outer}, which has {outer.size} elements")


def complement(layout: Layout, size: int) -> Layout:
    """The layout of what `layout` leaves out: together they reach every offset below `size` once.

    Where `layout` does not divide `size` the last mode is rounded up. `BadArgument` where `layout`
    overlaps itself or has uneven gaps.
    """
    found: list[tuple[int, int]] = []
    reached = 1
    for extent, stride in sorted(layout.coalesce().modes(), key=lambda mode: mode[::-1]):
        if extent == 1 or stride == 0:
            continue
        if stride % reached or stride < reached:
            raise BadArgument(f"{layout} has no complement: stride {stride} cuts into {reached}")
        found.append((stride // reached, reached))
        reached = extent * stride
    return _flat([*found, (-(-size // reached), reached)]).coalesce()


def divide(layout: Layout, tile: Layout) -> Layout:
    """`layout` cut by `tile`: mode 0 is the place within a tile, mode 1 counts the tiles."""
    if layout.size % tile.size:
        raise BadArgument(f"tiles of {tile.size} elements do not divide {layout.size}")
    return compose(layout, joined(tile, complement(tile, layout.size)))


def product(block: Layout, grid: Layout) -> Layout:
    """`block` repeated as `grid` says: mode 0 is the place within a block, mode 1 the block."""
    return joined(block, compose(complement(block, block.size * grid.cosize), grid))


def right_inverse(layout: Layout) -> Layout:
    """The longest layout with `layout(inverse(i)) == i`."""
    found: list[tuple[int, int]] = []
    modes, reached = layout.coalesce().modes(), 1
    starts = [prod(extent for extent, _ in modes[:place]) for place in range(len(modes))]
    placed = zip(modes, starts, strict=True)
    for (extent, stride), start in sorted(placed, key=lambda item: item[0][1]):
        if extent != 1 and stride == reached:
            found.append((extent, start))
            reached *= extent
    return _flat(found).coalesce()


def left_inverse(layout: Layout) -> Layout:
    """A layout with `inverse(layout(i)) == i`; `BadArgument` where `layout` is not injective."""
    if not layout.is_injective():
        raise BadArgument(f"{layout} is not injective, so nothing undoes it")
    return right_inverse(joined(layout, complement(layout, layout.cosize)))


def _flat(modes: Sequence[tuple[int, int]]) -> Layout:
    """A layout of these modes without nesting: numbers for one mode, tuples for several."""
    if not modes:
        return Layout(1, 0)
    if len(modes) == 1:
        return Layout(*modes[0])
    return Layout(tuple(n for n, _ in modes), tuple(d for _, d in modes))


def _offset(coordinate: Tree, shape: Tree, stride: Tree) -> Scalar:
    if not isinstance(shape, tuple):
        return scaled(coordinate, stride)
    if not isinstance(coordinate, tuple):
        sizes = [prod(_leaves(extent)) for extent in shape]
        coordinate = digits(coordinate, sizes, range(len(sizes))[::-1])
    if len(coordinate) != len(shape):
        raise BadArgument(f"{len(coordinate)} coordinates for the {len(shape)} modes of {shape}")
    total: Scalar = 0
    for part in map(_offset, coordinate, shape, stride):
        total = added(total, part)
    return total


def _leaves(tree: Tree) -> list[Any]:
    return [x for part in tree for x in _leaves(part)] if isinstance(tree, tuple) else [tree]


def _congruent(one: Tree, other: Tree) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_congruent, one, other))
    return not isinstance(one, tuple) and not isinstance(other, tuple)
