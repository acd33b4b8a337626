"""Recurrent layers: a cell at each step of a sequence; one kernel computes its gates.

A cell multiplies its state by one matrix for all gates. `interleave_gates` puts the columns of a
unit's gates side by side, so that the kernel of this product holds what the cell needs, and writes
nothing but the next state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hidet.graph import Tensor
from hidet.ops.elementwise.compare import less
from hidet.ops.elementwise.select import where
from hidet.ops.flow.loops import scan
from hidet.ops.indexing.rearrange import reverse_sequence
from hidet.ops.products.matmul import matmul
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import iota, zeros_like
from hidet.ops.tensors.shape import permute, reshape
from hidet.ops.tensors.slicing import flip, slice
from hidet.types import i64

Cell = Callable[..., Sequence[Tensor]]
"""The next state of `(row, *state)`: a step of the sequence [batch, features], and tensors [batch,
hidden], of which the first is what the layer gives for the step."""


def recurrence(
    x: Tensor,
    state: Sequence[Tensor],
    cell: Cell,
    *,
    lengths: Tensor | None = None,
    reverse: bool = False,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Repeat `state = cell(row, *state)` for each row of x[time, batch, features], from the last on
    if `reverse`. The results are the first state after each step [time, batch, hidden], and the
    last states.

    `lengths` [batch] are the numbers of steps of the samples: after them a state stays as it is,
    and results are 0. With `reverse` each sample begins at its own last step.
    """
    ahead = reversed_rows(x, lengths) if reverse else x
    if lengths is None:
        last, (rows,) = scan(lambda *now: plain(cell, *now), state, [ahead])
    else:
        steps = reshape(iota(x.shape[0], device=x.device), (-1, 1, 1))
        is_there = less(steps, reshape(cast(lengths, i64), (1, -1, 1)))
        last, (rows,) = scan(lambda *now: masked(cell, *now), state, [ahead, is_there])
    return (reversed_rows(rows, lengths) if reverse else rows), last


def plain(cell: Cell, *now: Tensor) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    """A step of all samples."""
    *state, row = now
    after = cell(row, *state)
    return after, after[:1]


def masked(cell: Cell, *now: Tensor) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    """A step of those samples that have not ended."""
    *state, row, is_there = now
    found = cell(row, *state)
    after = [where(is_there, new, old) for new, old in zip(found, state, strict=True)]
    return after, [where(is_there, found[0], zeros_like(found[0]))]


def reversed_rows(x: Tensor, lengths: Tensor | None) -> Tensor:
    """x[time, batch, ...] with the steps of each sample from its last one to its first."""
    return flip(x, 0) if lengths is None else reverse_sequence(x, lengths)


def interleave_gates(weight: Tensor, count: int) -> Tensor:
    """The weight [count * hidden, features] of `count` gates, one after the other, as the columns
    [features, hidden * count] that `gates` takes: those of a unit are neighbours."""
    rows, features = weight.shape
    parted = reshape(weight, (count, rows // count, features))
    return reshape(permute(parted, (2, 1, 0)), (features, rows))


def gates(state: Tensor, weight: Tensor, count: int) -> list[Tensor]:
    """The matmul of the state [batch, features] with the weight [features, hidden * count] that
    `interleave_gates` made: a tensor [batch, hidden] for each of `count` gates."""
    whole = matmul(state, weight)
    return [slice(whole, -1, n, None, count) for n in range(count)]
