"""Tiles of attention on the CPU: what lies in panels of keys and values, and products with them."""

from __future__ import annotations

from typing import Any

from hidet.compute.sizes import product
from hidet.ir.expr import Dot, Expr
from hidet.lang import ScriptFunction, cdiv, load, register_tensor, script, static, store
from hidet.ops.products.attention import Attention
from hidet.schedules.attention import Rows
from hidet.target import Target
from hidet.types import bf16, f32

REACH = 256
"""Keys at most that a row meets between two of its maxima: their scores stay in the first cache."""


class Tiles:
    """Where the elements of a tile are, and the types of the panels."""

    def __init__(self, op: Attention, target: Target, height: int, vectors: int) -> None:
        self.op, self.rows = op, Rows(op, few=0)
        self.group = grouped(op, target)
        self.held = f32 if self.group == 1 else bf16
        """The type of what is multiplied."""
        self.lanes = max(2, target.vector_bytes // f32.nbytes)
        self.height, self.vectors = height, range(vectors)
        self.keys = vectors * self.lanes
        whole = -(-self.rows.width // self.lanes)
        self.pieces = -(-whole // vectors)
        self.across = range(-(-whole // self.pieces))
        """The vectors of a piece of a value, all of which meet the rows at once."""
        self.piece = len(self.across) * self.lanes
        self.count = cdiv(self.rows.keys, self.keys)
        most = max(1, REACH // self.keys)
        known = isinstance(self.count, int)
        self.together: int = cdiv(self.count, cdiv(self.count, most)) if known else most
        """Panels whose keys a row meets between two of its maxima."""
        self.down = cdiv(self.rows.length, self.height)
        self.heads = product((*self.rows.batch, op.k.shape[-3]))
        self.depth = -(-self.rows.size // self.group)
        """Groups of neighbours in a query or a key."""
        keys = (self.depth, self.keys * self.group)
        self.keys_type = self.held[self.heads * self.count, *keys]
        lines = self.count * (self.keys // self.group)
        self.values_type = self.held[self.heads, self.pieces, lines, self.piece * self.group]

    def element(self, left: Any, i: Any, r: Any) -> Expr:
        """Group r of row i."""
        lanes = {} if self.group == 1 else {"lanes": self.group}
        return load(left, i, r * self.group, **lanes)

    def added(self, total: Expr, each: Expr, row: Expr) -> Expr:
        """Sums with the products of a group of a row and of those in a vector."""
        return total + each * row if self.group == 1 else Dot(total, each, row)


def grouped(op: Attention, target: Target) -> int:
    """How many neighbours an instruction multiplies in each lane: pairs of bfloat16, else one."""
    narrow = {op.q.dtype, op.k.dtype, op.v.dtype} == {bf16}
    return 2 if narrow and target.has_feature("bf16") else 1


def halves(lanes: int) -> Any:
    """Half the lanes, a quarter of them and so on: what is added or compared at once, until one
    lane has it all."""
    return static([lanes >> step for step in range(1, lanes.bit_length())])


def multiplying(t: Tiles, vectors: range, fresh: bool) -> ScriptFunction:
    """A part of a kernel: (left, right, done, factors, at, first, to, length): left times so many
    groups of rows, from `first` on, of the matrix at `right[*at]`.

    `done[*to]` becomes that if it is `fresh`; else it grows by that, each row rescaled first.
    """
    lanes, height, wide = t.lanes, t.height, t.lanes * t.group
    own = [(i, v * lanes) for i in range(height) for v in vectors]

    @script
    def multiply(left, right, done, factors, at, first, to, length):  # type: ignore[no-untyped-def]
        accumulators = register_tensor(f32, (height, len(vectors) * lanes), init=0.0)
        for r in range(length):
            row = [load(right, *at, first + r, v * wide, lanes=wide) for v in vectors]
            for i in static(range(height)):
                each = t.element(left, i, r)
                for v in static(vectors):
                    kept = load(accumulators, i, v * lanes, lanes=lanes)
                    store(accumulators, i, v * lanes, t.added(kept, each, row[v]))
        # Apart from the tile: accumulators stay in registers only while every index is a constant.
        for i, v in static(own):
            found = load(accumulators, i, v, lanes=lanes)
            if not fresh:
                found = factors[i] * load(done, *to, i, v, lanes=lanes) + found
            store(done, *to, i, v, found)

    return multiply
