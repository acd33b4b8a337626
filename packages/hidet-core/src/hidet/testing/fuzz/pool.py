"""The tensors of a graph in the making, and what can be asked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any

import numpy as np

from hidet.errors import BadArgument
from hidet.graph import Tensor, asarray, symbol
from hidet.ir.expr import Var
from hidet.testing.fuzz.values import Values
from hidet.types import DType, Size, boolean, i32, i64

Array = np.ndarray[Any, Any]
SIZES = (1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 33)
LARGE = (64, 96, 129, 257)
"""Sizes for graphs whose tensors may have more than `ROOMY` elements."""
ROOMY = 1 << 14
CONSTANT = 0.4
"""How often a new operand is a constant, as weights are."""
LARGEST_VALUE = 50.0


class Unfit(Exception):
    """No tensor is there for what was tried."""


@dataclass(frozen=True)
class Source:
    """An input of the graph: floats of a normal distribution, or integers from 0 to `below`."""

    tensor: Tensor
    number: int
    below: int = 2

    def array(self, call: int, sizes: Mapping[Var, int]) -> Array:
        """The values of a call with these sizes."""
        random, of = np.random.default_rng([call, self.number]), self.tensor.dtype
        shape = [known(size, sizes) for size in self.tensor.shape]
        if of.is_float:
            return random.standard_normal(shape).astype(of.numpy)
        return random.integers(0, self.below, shape).astype(of.numpy)


def known(size: Size, sizes: Mapping[Var, int]) -> int:
    """A size as a number; Unfit if there is none yet."""
    if isinstance(size, int):
        return size
    if not isinstance(size, Var) or size not in sizes:
        raise Unfit
    return sizes[size]


class Pool:
    """Tensors to choose from; `dtype` is that of new floating-point ones.

    `sizes` are the symbols of the graph with the numbers that the pool sees.
    """

    def __init__(
        self, random: Random, dtype: DType, device: str, largest: int, sizes: Mapping[Var, int]
    ) -> None:
        self.random, self.dtype, self.device, self.largest = random, dtype, device, largest
        self.tensors: list[Tensor] = []
        self.sources: list[Source] = []
        self.sizes = sizes
        self.values = Values({})

    # ---- new operands --------------------------------------------------------------------------

    def new(self, shape: Sequence[Size], dtype: DType | None = None, below: int = 2) -> Tensor:
        """An input, or a constant where the shape is known."""
        tensor = symbol(tuple(shape), dtype=dtype or self.dtype, device=self.device)
        source = Source(tensor, self.random.randrange(1 << 30), below)
        array = source.array(0, self.sizes)
        if array.shape == tuple(shape) and self.sources and self.maybe(CONSTANT):
            tensor = asarray(array, device=self.device)
        else:
            self.sources.append(source)
        self.values.give(tensor, array)
        return tensor

    def mask(self, shape: Sequence[Size]) -> Tensor:
        """Truth values."""
        return self.new(shape, boolean)

    def positions(self, shape: Sequence[Size], below: int) -> Tensor:
        """Integers from 0 to `below`, to index with."""
        return self.new(shape, self.random.choice((i32, i64)), below)

    def size(self, most: int = 33) -> int:
        """A size for a new axis."""
        large = LARGE if most == max(SIZES) and self.largest > ROOMY else ()
        able: list[int] = [*(size for size in SIZES if size <= most), *large]
        return self.random.choice(able)

    # ---- choosing ------------------------------------------------------------------------------

    def pick(self, fits: Callable[[Tensor], bool] = lambda x: True) -> Tensor:
        """A tensor that fits, the later the likelier; Unfit if there is none."""
        able = [each for each in self.tensors if fits(each)]
        if not able:
            raise Unfit
        return self.random.choices(able, [1 + 2 * place for place in range(len(able))])[0]

    def floats(self, least: int = 0, most: int = 6) -> Tensor:
        """A floating-point tensor with so many axes."""
        return self.pick(lambda x: x.dtype.is_float and least <= x.ndim <= most)

    def precise(self, least: int = 0) -> Tensor:
        """A floating-point tensor whose values hold no rounding: what decides may read it."""
        rounded = self.values.rounded
        return self.pick(lambda x: x.dtype.is_float and x not in rounded and x.ndim >= least)

    def integer(self, fits: Callable[[Tensor], bool] = lambda x: True) -> Tensor:
        """A tensor of integers."""
        return self.pick(lambda x: x.dtype.is_integer and fits(x))

    def axis(self, x: Tensor) -> int:
        """One of the axes of a tensor."""
        if not x.ndim:
            raise Unfit
        return self.random.randrange(x.ndim)

    def known_axis(self, x: Tensor, least: int = 1) -> int:
        """An axis of a known size that is at least `least`."""
        able = [a for a, size in enumerate(x.shape) if isinstance(size, int) and size >= least]
        if not able:
            raise Unfit
        return self.random.choice(able)

    def maybe(self, chance: float = 0.5) -> bool:
        """True so often."""
        return self.random.random() < chance

    # ---- growing -------------------------------------------------------------------------------

    def accept(self, made: Iterable[Tensor]) -> bool:
        """Let tensors in if they are neither too large nor hold too large values."""
        there = set(self.tensors)
        made = [each for each in made if each not in there]
        for each in made:
            count = prod(self.values.shape(each.shape))
            if not 0 < count <= self.largest:
                return False
        try:
            self.values.work_out(made)
        except BadArgument:  # what only the values show, as an index outside
            return False
        if not all(self.moderate(each) for each in made):
            return False
        self.tensors += made
        return bool(made)

    def moderate(self, x: Tensor) -> bool:
        """Whether a comparison with float64 will say something about these values."""
        value = self.values.exact[x]
        return bool(
            np.isfinite(value).all() and np.abs(value.astype(np.float64)).max() < LARGEST_VALUE
        )
