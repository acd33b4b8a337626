"""Tensor maps: which boxes of a global tensor the copy engine of a GPU moves, and in what form.

PTX ISA, "Tensors"; the limits are those of the driver's cuTensorMapEncodeTiled and -Im2col.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from hidet.errors import BadTensorMap
from hidet.types.dtypes import DType, Kind, boolean

SWIZZLES = {"none": 0, "32B": 32, "64B": 64, "128B": 128}
"""Bytes of a row within which 16-byte pieces are exchanged."""

PROMOTIONS = ("none", "64B", "128B", "256B")
"""How many bytes the second cache fetches at once."""

FILLS = ("zeros", "nan")
"""What elements outside of the tensor are read as."""

CORNERS = {3: (-(2**15), 2**15 - 1), 4: (-(2**7), 2**7 - 1), 5: (-(2**4), 2**4 - 1)}
"""The corners that an im2col box may have, by the rank of the tensor."""

OFFSETS = {3: 2**16 - 1, 4: 2**8 - 1, 5: 2**5 - 1}
"""The largest offset of an im2col load, by the rank of the tensor."""

ALIGNMENT = 16
"""Bytes of which a tensor's address and strides, and the last axis of a box, are multiples."""

LARGEST_BOX = 256
LARGEST_COLUMN = 1024
LARGEST_STEP = 8
LARGEST_SIZE = 2**32
LARGEST_STRIDE = 2**40


@dataclass(frozen=True, slots=True)
class Tile:
    """Boxes anywhere in a tensor of one to five axes: `sizes` elements, `steps` apart."""

    sizes: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def rank(self) -> int:
        """The axes of the tensor."""
        return len(self.sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The box as it lies in shared memory."""
        return self.sizes


@dataclass(frozen=True, slots=True)
class Im2col:
    """Rows of pixels of images (n, [[depth,] height,] width, channels).

    `pixels` positions of a filter follow one another, the last spatial axis first, then the
    next, then the next image. They begin `lower` from the first pixel and end `upper` from the
    last one, and are `steps` apart. Of each, `channels` channels are moved.
    """

    pixels: int
    channels: int
    lower: tuple[int, ...]
    upper: tuple[int, ...]
    steps: tuple[int, ...]

    @property
    def rank(self) -> int:
        """The axes of the tensor."""
        return len(self.lower) + 2

    @property
    def shape(self) -> tuple[int, ...]:
        """The box as it lies in shared memory."""
        return self.pixels, self.channels


@dataclass(frozen=True, slots=True)
class TensorMapType:
    """What a tensor map says beyond the tensor itself; `BadTensorMap` if the hardware has none."""

    dtype: DType
    box: Tile | Im2col
    swizzle: str = "none"
    promotion: str = "128B"
    fill: str = "zeros"

    def __post_init__(self) -> None:
        check_box(self.box)
        check_form(self)

    @property
    def rank(self) -> int:
        """The axes of the tensor."""
        return self.box.rank

    @property
    def shape(self) -> tuple[int, ...]:
        """The box as it lies in shared memory."""
        return self.box.shape

    @property
    def nbytes(self) -> int:
        """Bytes of a whole box: what a load reports to its barrier, clipped or not."""
        return prod(self.shape) * self.dtype.nbytes

    @property
    def swizzle_bytes(self) -> int:
        """Bytes of a row within which the swizzle exchanges pieces; 0 without one."""
        return SWIZZLES[self.swizzle]

    def __str__(self) -> str:
        return f"tensor map of {self.dtype}, {spelled(self.box)}{self.form}"

    @property
    def form(self) -> str:
        """What is not as usual about the boxes, in words."""
        swizzle = f", swizzle {self.swizzle}" if self.swizzle != "none" else ""
        promotion = f", promotion {self.promotion}" if self.promotion != "128B" else ""
        return swizzle + promotion + (", filled with nan" if self.fill == "nan" else "")


def spelled(box: Tile | Im2col) -> str:
    """A box as texts show it."""
    steps = f" step {box.steps}" if set(box.steps) - {1} else ""
    if isinstance(box, Tile):
        return f"box {box.sizes}{steps}"
    return f"{box.pixels} pixels of {box.channels} channels from {box.lower} to {box.upper}{steps}"


def check_box(box: Tile | Im2col) -> None:
    """Raise unless the sizes of the box are possible."""
    if isinstance(box, Tile):
        check_tile(box)
    else:
        check_columns(box)
    for step in box.steps:
        if not 1 <= step <= LARGEST_STEP:
            raise BadTensorMap(f"a box has steps from 1 to {LARGEST_STEP}, not {box.steps}")


def check_tile(box: Tile) -> None:
    """Raise unless a tile is possible."""
    if not 1 <= box.rank <= 5:
        raise BadTensorMap(f"a box has one to five axes, not {box.rank}: {box.sizes}")
    if len(box.steps) != box.rank or box.steps[-1] != 1:
        raise BadTensorMap(
            f"a box {box.sizes} has a step for each axis, 1 for the last, not {box.steps}"
        )
    for size, step in zip(box.sizes, box.steps, strict=True):
        if size < 1 or size * step > LARGEST_BOX:
            raise BadTensorMap(
                f"a box spans 1 to {LARGEST_BOX} elements along an axis; {spelled(box)} does not",
                help="move several smaller boxes",
            )


def check_columns(box: Im2col) -> None:
    """Raise unless rows of pixels are possible."""
    if box.rank not in CORNERS or not len(box.upper) == len(box.steps) == len(box.lower):
        raise BadTensorMap(
            f"images have one to three spatial axes, each with corners and a step; {spelled(box)} "
            "does not"
        )
    low, high = CORNERS[box.rank]
    if not all(low <= corner <= high for corner in (*box.lower, *box.upper)):
        raise BadTensorMap(
            f"corners of a tensor of {box.rank} axes are from {low} to {high}, not {box.lower} "
            f"and {box.upper}"
        )
    if not 1 <= box.pixels <= LARGEST_COLUMN or not 1 <= box.channels <= LARGEST_BOX:
        raise BadTensorMap(
            f"a box has 1 to {LARGEST_COLUMN} pixels of 1 to {LARGEST_BOX} channels, not "
            f"{box.pixels} of {box.channels}"
        )


def check_form(of: TensorMapType) -> None:
    """Raise unless elements, swizzle, promotion and fill go with the box."""
    for what, given, known in (
        ("swizzle", of.swizzle, tuple(SWIZZLES)),
        ("promotion", of.promotion, PROMOTIONS),
        ("fill", of.fill, FILLS),
    ):
        if given not in known:
            names = ", ".join(map(repr, known))
            raise BadTensorMap(f"there is no {what} {given!r}", help=f"use one of {names}")
    if of.fill == "nan" and (of.dtype.kind is not Kind.FLOAT or of.dtype.bits < 16):
        raise BadTensorMap(f"elements of {of.dtype} cannot be filled with nan")
    if of.dtype is boolean:
        raise BadTensorMap("there are no tensor maps of bool", help="pass the tensor as u8")
    row = of.shape[-1] * of.dtype.nbytes
    if row % ALIGNMENT:
        raise BadTensorMap(
            f"the last axis of a box takes a multiple of {ALIGNMENT} bytes, not {row}: "
            f"{spelled(of.box)} of {of.dtype}"
        )
    if of.swizzle_bytes and row > of.swizzle_bytes:
        raise BadTensorMap(
            f"the last axis of a box takes at most the {of.swizzle_bytes} bytes of its swizzle, "
            f"not {row}: {spelled(of.box)} of {of.dtype}",
            help="move several narrower boxes",
        )


def check_tensor(
    of: TensorMapType,
    name: str,
    shape: Sequence[int],
    strides: Sequence[int],
    nbytes: int | None = None,
) -> None:
    """Raise unless a tensor of this shape, its axes but the last `strides` bytes apart, fits.

    It lies within memory of `nbytes` bytes, where that is known.
    """
    if len(shape) != of.rank or len(strides) != of.rank - 1:
        raise BadTensorMap(
            f"{name} has {len(shape)} sizes and {len(strides)} strides; its tensor map is of "
            f"{of.rank} axes"
        )
    if not all(1 <= size <= LARGEST_SIZE for size in shape):
        raise BadTensorMap(
            f"{name} has the shape {tuple(shape)}; a tensor map has sizes from 1 to 2^32"
        )
    check_strides(name, strides)
    apart = (*strides, of.dtype.nbytes)
    reach = of.dtype.nbytes + sum((n - 1) * s for n, s in zip(shape, apart, strict=True))
    if nbytes is not None and reach > nbytes:
        raise BadTensorMap(
            f"a tensor of shape {tuple(shape)}, its axes {tuple(strides)} bytes apart, takes "
            f"{reach} bytes; {name} has {nbytes}"
        )
    if isinstance(of.box, Im2col):
        check_images(of.box, name, shape)


def check_strides(name: str, strides: Sequence[int]) -> None:
    """Raise unless axes may be so many bytes apart."""
    for stride in strides:
        if stride % ALIGNMENT or not 0 <= stride < LARGEST_STRIDE:
            raise BadTensorMap(
                f"the axes of {name} are {tuple(strides)} bytes apart; a tensor map needs "
                f"multiples of {ALIGNMENT} below 2^40",
                help="pad the last axis of the tensor",
            )


def check_images(box: Im2col, name: str, shape: Sequence[int]) -> None:
    """Raise unless there is a place for the filter in the images."""
    for size, low, high in zip(shape[1:-1], box.lower, box.upper, strict=True):
        if size - 1 + high < low:
            raise BadTensorMap(
                f"images of {tuple(shape)} ({name}) have no pixel from {box.lower} after the "
                f"first to {box.upper} after the last"
            )
