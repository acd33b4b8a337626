"""Attention as rows and keys: the form that its schedules are written against.

Rows of all heads of q that share a head of k and v are neighbours where there are few of them, so
that one block serves them all; else each head is on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from hidet.compute.sizes import Shape, product, same
from hidet.ir.expr import Value
from hidet.lang import min as minimum
from hidet.ops.products.attention import Attention
from hidet.schedules.contraction import Index, digits
from hidet.schedules.typical import estimated, size_bytes
from hidet.types import Size, TensorType, f32

SMALL_M = 64
"""As many as one block takes with ease."""


@dataclass(frozen=True)
class Rows:
    """The rows of q in stacks, each of which reads one head of k and v."""

    op: Attention
    few: int = SMALL_M
    """Rows of a head of q below which heads are put together."""

    @property
    def batch(self) -> Shape:
        """The axes before the heads."""
        return self.op.q.shape[:-3]

    @cached_property
    def times(self) -> int:
        """How many heads of q share one of k and v."""
        h, g = self.op.q.shape[-3], self.op.k.shape[-3]
        return 1 if same(h, g) else h // g  # type: ignore[return-value]

    @cached_property
    def together(self) -> bool:
        """Whether the heads that share k and v are one stack."""
        m = self.op.q.shape[-2]
        return self.times > 1 and isinstance(m, int) and m < self.few

    @property
    def length(self) -> Size:
        """Rows of one head of q."""
        return self.op.q.shape[-2]

    @property
    def single(self) -> bool:
        """Whether products are of float32."""
        return self.op.q.dtype is f32

    @property
    def keys(self) -> Size:
        """Rows of k."""
        return self.op.k.shape[-2]

    @property
    def size(self) -> int:
        """Elements of a row of q and k."""
        return int(self.op.q.shape[-1])  # type: ignore[arg-type]

    @property
    def width(self) -> int:
        """Elements of a row of v and of the result."""
        return int(self.op.v.shape[-1])  # type: ignore[arg-type]

    @cached_property
    def heads(self) -> Shape:
        """The axes of a stack's number."""
        return (*self.batch, self.op.k.shape[-3] if self.together else self.op.q.shape[-3])

    @cached_property
    def stacks(self) -> Size:
        """How many stacks there are."""
        return product(self.heads)

    @cached_property
    def count(self) -> Size:
        """Rows of a stack."""
        return product((self.times, self.length)) if self.together else self.length

    def number(self, row: Value) -> Value:
        """The number of a row within its head; too large for a row that there is not."""
        if not self.together:
            return row
        return row - self.member(row) * self.length

    def member(self, row: Value) -> Value:
        """Which of the heads that share k and v a row belongs to."""
        found: Value = minimum(row // self.length, self.times - 1)
        return found

    def row_at(self, z: Value, row: Value, column: Value) -> Index:
        """The index of an element of q, of the result, or of the scores."""
        *batch, head = digits(z, self.heads)
        if self.together:
            head = head * self.times + self.member(row)
        return (*batch, head, self.number(row), column)

    def key_at(self, z: Value, row: Value, column: Value) -> Index:
        """The index of an element of k or v."""
        *batch, head = digits(z, self.heads)
        return (*batch, head if self.together else head // self.times, row, column)

    def source_at(self, s: Value, row: Value, column: Value) -> Index:
        """The index of an element of k or v in head `s` of all their heads."""
        return (*digits(s, (*self.batch, self.op.k.shape[-3])), row, column)

    def mask_at(self, z: Value, row: Value, column: Value) -> Index:
        """The index of the mask's element for a row and a key."""
        mask, scores = self.op.mask, self.op.scores()
        assert mask is not None
        index = self.row_at(z, row, column)[len(scores) - mask.ndim :]
        sizes = zip(index, mask.shape, scores[len(scores) - mask.ndim :], strict=True)
        return tuple(0 if same(own, 1) and not same(all_, 1) else at for at, own, all_ in sizes)

    @property
    def empty(self) -> bool:
        """Whether there is nothing to compute."""
        sizes = (self.stacks, self.length, self.keys, self.size, self.width)
        return any(same(size, 0) is True for size in sizes)

    @property
    def nbytes(self) -> tuple[float, float]:
        """Bytes read and written, each element once."""
        read = sum(map(size_bytes, self.op.types()))
        return read, size_bytes(self.op.infer())

    def pairs(self) -> float:
        """Rows and keys that meet, where none is left out."""
        return float(estimated(self.stacks)) * estimated(self.count) * estimated(self.keys)


@lru_cache(maxsize=1024)
def rows_of(op: Attention) -> Rows:
    """The rows that an operator asks for."""
    return Rows(op)


def is_sized(op: Attention) -> bool:
    """Whether heads and their sizes are numbers."""
    sizes = (op.q.shape[-3], op.k.shape[-3], op.q.shape[-1], op.v.shape[-1])
    return all(isinstance(size, int) for size in sizes) and not rows_of(op).empty


def mask_type(op: Attention) -> TensorType:
    """The type of the mask; a stand-in where there is none."""
    return op.q.with_(shape=(1,)) if op.mask is None else op.mask


def types_of(op: Attention) -> dict[str, TensorType]:
    """The types of operands, by what kernels call them."""
    return {"q": op.q, "k": op.k, "v": op.v, "mask": mask_type(op)}


__all__ = ["SMALL_M", "Rows", "is_sized", "mask_type", "rows_of", "types_of"]
