"""Random bits by a counter: the same for the same seed, on every target, in any order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from hidet.compute import Grid, grid, select
from hidet.compute.places import ravel
from hidet.compute.sizes import numbers
from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import Op, operator
from hidet.ir.expr import Equal, Expr, constant, wrap
from hidet.types import Size, TensorType, i64, u32, u64

FACTORS = (0xD2511F53, 0xCD9E8D57)
STEPS = (0x9E3779B9, 0xBB67AE85)
ROUNDS = 10
LOW = 0xFFFFFFFF


@operator("random_bits")
class RandomBits(Op):
    """32 random bits (u32) for each element, by Philox4x32-10.

    Each counter gives `words` elements: its first words. The counter is the element's row-major
    number by `words`, with `offset` added, then `stream`; the key is `seed`.
    Source: Salmon et al. 2011, doi 10.1145/2063384.2063405.
    """

    offset: TensorType | None
    shape: tuple[Size, ...]
    seed: int
    stream: int
    words: int = 1

    def infer(self) -> TensorType:
        if self.offset is not None and (self.offset.shape != () or self.offset.dtype is not i64):
            raise ShapeMismatch(f"an offset of random numbers is int64[()], not {self.offset}")
        if not 1 <= self.words <= 4:
            raise BadArgument(f"{self.words} words of a counter", help="it has 4")
        return u32[self.shape]

    def define(self, offset: Grid | None) -> Grid:
        def element(*index: Expr) -> Expr:
            wide = [each.cast(i64) for each in index]
            number = wrap(ravel(wide, self.shape)).cast(i64)
            word, number = number % self.words, number // self.words
            number = number if offset is None else number + offset[()]
            found = philox(number.cast(u64), self.stream, self.seed)[: self.words]
            chosen = found[-1]
            for place in reversed(range(self.words - 1)):
                chosen = select(Equal(word, constant(place, i64)), found[place], chosen)
            return chosen

        return grid(self.shape, element)

    def reference(self, offset: Any) -> Any:
        shape = numbers(self.shape)
        start = 0 if offset is None else int(offset)
        word, number = np.arange(int(np.prod(shape))) % self.words, np.arange(int(np.prod(shape)))
        number = (number // self.words + start).astype(np.uint64)
        zero = np.zeros_like(number)
        c = [number & LOW, number >> 32, zero + (self.stream & LOW), zero + (self.stream >> 32)]
        key = [self.seed & LOW, self.seed >> 32 & LOW]
        for _ in range(ROUNDS):
            first, second = c[0] * FACTORS[0], c[2] * FACTORS[1]
            c = [
                second >> 32 ^ c[1] ^ key[0],
                second & LOW,
                first >> 32 ^ c[3] ^ key[1],
                first & LOW,
            ]
            key = [(k + step) & LOW for k, step in zip(key, STEPS, strict=True)]
        return np.choose(word, c[: self.words]).astype(np.uint32).reshape(shape)

    def examples(self, seed: int) -> list[Any]:
        return [] if self.offset is None else [np.asarray(2**33 + seed, np.int64)]

    @classmethod
    def samples(cls) -> Iterator[Self]:
        yield cls(None, (7, 33), 0, 0)
        yield cls(i64[()], (5,), 2**40 + 7, 3)
        yield cls(None, (), 1, 2**33)
        yield cls(i64[()], (7, 3), 2**40 + 7, 2**63 + 3, 4)
        yield cls(None, (5,), 3, 1, 3)


def philox(counter: Expr, stream: int, seed: int) -> tuple[Expr, Expr, Expr, Expr]:
    """The words of Philox4x32-10 of a 64-bit counter and stream, all in 64-bit arithmetic."""
    low, shift = constant(LOW, u64), constant(32, u64)
    a, b = counter & low, counter >> shift
    c: Expr = constant(stream & LOW, u64)
    d: Expr = constant(stream >> 32, u64)
    key = [seed & LOW, seed >> 32 & LOW]
    for _ in range(ROUNDS):
        first, second = a * constant(FACTORS[0], u64), c * constant(FACTORS[1], u64)
        a, b = (second >> shift) ^ b ^ constant(key[0], u64), second & low
        c, d = (first >> shift) ^ d ^ constant(key[1], u64), first & low
        key = [(k + step) & LOW for k, step in zip(key, STEPS, strict=True)]
    return a.cast(u32), b.cast(u32), c.cast(u32), d.cast(u32)
