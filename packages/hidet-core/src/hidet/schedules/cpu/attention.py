"""Attention on the CPU in one pass over the keys, with no scores in memory.

A thread owns some rows of one head. Keys come by in tiles, from panels that lie as vectors are
read; the running softmax of each row is kept beside its sums (Milakov and Gimelshein 2018).
Queries, keys, weights and values are multiplied in float32, or as pairs of bfloat16 where they are
of that type and the machine has an instruction for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from hidet.compute.steps import stepped
from hidet.cost import Work
from hidet.lang import (
    Global,
    ScriptFunction,
    attr,
    cast,
    cdiv,
    exp,
    parallel,
    register_tensor,
    script,
    script_module,
    select,
    static,
    vectorize,
)
from hidet.lang import max as maximum
from hidet.lang import min as minimum
from hidet.lang.memory import get
from hidet.ops.products.attention import Attention
from hidet.schedules.assemble import assemble
from hidet.schedules.attention import is_sized, mask_type, rows_of
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cpu.attention_tiles import REACH, Tiles, grouped, halves, multiplying
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import Target
from hidet.types import f32

LOW = float("-inf")
WEIGHT = 100.0
"""Operations that it takes to make a weight of a score."""
ITERATION = 8000.0
"""Those that a row takes whenever it has a new maximum."""
FEWEST_ROWS = 16
"""Rows of a head for which making panels of its keys pays."""


def pays(op: Attention, target: Target) -> bool:
    """Whether sums are in float32, heads have a known size, and rows are many."""
    narrow = op.q.dtype.is_float and op.q.dtype.nbytes <= f32.nbytes
    return narrow and is_sized(op) and estimated(op.q.shape[-2]) >= FEWEST_ROWS


@dataclass(frozen=True)
class Lanes:
    """The rows of a thread, and the vectors of keys, or of sums, that they meet at once."""

    rows: int = choice(8, 6, 4, 12)
    vectors: int = choice(3, 4, 2, 1)

    def fits(self, op: Attention, target: Target) -> bool:
        """Whether sums, a row of vectors and a spread element have registers."""
        return self.rows * self.vectors + self.vectors + 1 <= target.max_registers_per_thread

    def work(self, op: Attention, target: Target) -> Work:
        """Whole tiles, two loads at most for each multiply-add, and what is done to scores; panels
        are made once."""
        rows = rows_of(op)
        sums = self.rows * self.vectors
        busy = min(1.0, sums / 10) * min(1.0, 1.5 * sums / (self.rows + self.vectors))
        seen = 0.5 if op.causal else 1.0
        blocks = estimated(rows.stacks) * -(-estimated(rows.count) // self.rows)
        tile = self.vectors * target.vector_bytes // 4
        keys = estimated(rows.keys)
        whole = -(-keys // tile) * tile
        iterations = -(-whole // (tile * max(1, REACH // tile)))
        products = 2.0 * (whole * rows.size + keys * rows.width) / busy / grouped(op, target)
        flops = blocks * self.rows * seen * (products + whole * WEIGHT + iterations * ITERATION)
        return Work(*rows.nbytes, flops, "float32", blocks, 1)


@schedule_for(Attention, target="cpu", space=Lanes, when=pays)
def attention_rows(op: Attention, target: Target, point: Lanes) -> Scheduled:
    """Panels of keys and values, then rows, over the threads."""
    t = Tiles(op, target, point.rows, point.vectors)
    rows, height, keys = t.rows, t.height, t.keys

    with script_module():
        make_panels, accumulate, write = making(t), accumulating(t), writing(t)

        @script(
            q=op.q, k=op.k, v=op.v, mask=mask_type(op), panels=t.keys_type, values=t.values_type,
            y=op.infer(),
        )  # fmt: skip
        def attend(
            q: Global, k: Global, v: Global, mask: Global, panels: Global, values: Global,
            y: Global,
        ) -> None:  # fmt: skip
            attr.func_kind = "cpu_kernel"
            attr.func_name = op.name
            for panel in parallel(t.heads * t.count):
                make_panels(k, v, panels, values, panel)
            for task in parallel(rows.stacks * t.down):
                z, top = task // t.down, task % t.down * height
                own = register_tensor(t.held, (height, t.depth * t.group), init=0.0)
                row_max = register_tensor(f32, (height,), init=LOW)
                row_sum = register_tensor(f32, (height, t.lanes), init=0.0)
                sums = register_tensor(f32, (t.pieces, height, t.piece), init=0.0)
                for i in range(height):
                    for c in vectorize(rows.size):
                        own[i, c] = cast(get(q, *rows.row_at(z, top + i, c)), t.held)
                seen = minimum(rows.keys, top + height) if op.causal else rows.keys
                for iteration in range(cdiv(seen, t.together * keys)):
                    first = iteration * t.together
                    accumulate(
                        own, panels, values, mask, row_max, row_sum, sums, z, top, first, seen
                    )
                write(row_sum, sums, y, z, top)

    module = assemble(op.name, [attend], op.operand_labels(), ["y"], ["panels", "values"])
    return Scheduled(module, point)


def making(t: Tiles) -> ScriptFunction:
    """A part of a kernel: (k, v, panels, values, panel). Keys become columns of a panel."""
    rows, group = t.rows, t.group

    @script
    def make_panels(k, v, panels, values, panel):  # type: ignore[no-untyped-def]
        head, first = panel // t.count, panel % t.count * t.keys
        key = register_tensor(t.held, (t.depth * group,), init=0.0)
        for j in range(t.keys):
            for c in vectorize(rows.size):
                key[c] = cast(get(k, *rows.source_at(head, first + j, c)), t.held)
            for c in range(t.depth):
                for each in static(range(group)):
                    panels[panel, c, j * group + each] = key[c * group + each]
        for piece in range(t.pieces):
            for j in range(t.keys // group):
                for c in vectorize(t.piece):
                    for each in static(range(group)):
                        row = first + j * group + each
                        found = get(v, *rows.source_at(head, row, piece * t.piece + c))
                        line = first // group + j
                        values[head, piece, line, c * group + each] = cast(found, t.held)

    return make_panels


def accumulating(t: Tiles) -> ScriptFunction:
    """A part of a kernel: (own, panels, values, mask, row_max, row_sum, sums, z, top, first,
    seen). Panels from `first` on, of the `seen` keys: their scores, then their weighted values."""
    height, keys, score, weigh = t.height, t.keys, scoring(t), weighing(t)

    @script
    def accumulate(own, panels, values, mask, row_max, row_sum, sums, z, top, first, seen):  # type: ignore[no-untyped-def]
        scores = register_tensor(f32, (t.together, height, keys))
        most = register_tensor(f32, (height, t.lanes), init=LOW)
        head = z // t.rows.times
        there = minimum(t.together, cdiv(seen, keys) - first)
        for part in range(there):
            score(own, panels, mask, scores, most, z, top, head, part, first + part)
        met = minimum(t.together * keys, seen - first * keys)
        weigh(scores, values, most, row_max, row_sum, sums, head, first, there, met)

    return accumulate


def scoring(t: Tiles) -> ScriptFunction:
    """A part of a kernel: (own, panels, mask, scores, most, z, top, head, part, panel). Scores of a
    panel after masks, and the largest of each row and lane."""
    rows, op, height, keys, lanes = t.rows, t.op, t.height, t.keys, t.lanes
    multiply = multiplying(t, t.vectors, fresh=True)
    kept = op.mask is not None and op.mask.dtype.is_bool

    @script
    def score(own, panels, mask, scores, most, z, top, head, part, panel):  # type: ignore[no-untyped-def]
        multiply(own, panels, scores, own, (head * t.count + panel,), 0, (part,), t.depth)
        for i in range(height):
            last = minimum(rows.keys - 1, top + i) if op.causal else rows.keys - 1
            for j in vectorize(keys):
                key = panel * keys + j
                value = stepped(scores[part, i, j] * op.scale, op.steps)
                if op.mask is not None:
                    entry = get(mask, *rows.mask_at(z, top + i, key))
                    value = select(entry, value, LOW) if kept else value + cast(entry, f32)
                scores[part, i, j] = select(key <= last, value, LOW)
            for v in range(keys // lanes):
                for lane in vectorize(lanes):
                    value = scores[part, i, v * lanes + lane]
                    # What is no number need not be the largest: its weight is none either.
                    most[i, lane] = select(value > most[i, lane], value, most[i, lane])

    return score


def weighing(t: Tiles) -> ScriptFunction:
    """A part of a kernel: (scores, values, most, row_max, row_sum, sums, head, first, there,
    met). Adds the weighted values of so many panels, which have `met` of them."""
    height, keys, lanes = t.height, t.keys, t.lanes
    rescale, multiply = rescaling(t), multiplying(t, t.across, fresh=False)

    @script
    def weigh(scores, values, most, row_max, row_sum, sums, head, first, there, met):  # type: ignore[no-untyped-def]
        weights = register_tensor(t.held, (height, t.together * keys))
        shifts = register_tensor(f32, (height,))
        factors = register_tensor(f32, (height,))
        rescale(most, row_max, shifts, factors)
        for i in range(height):
            for lane in vectorize(lanes):
                row_sum[i, lane] *= factors[i]
            for part in range(there):
                for v in range(keys // lanes):
                    for lane in vectorize(lanes):
                        weight = exp(scores[part, i, v * lanes + lane] - shifts[i])
                        weights[i, part * keys + v * lanes + lane] = cast(weight, t.held)
                        row_sum[i, lane] += weight
        line, groups = first * (keys // t.group), cdiv(met, t.group)
        for piece in range(t.pieces):
            multiply(weights, values, sums, factors, (head, piece), line, (piece,), groups)

    return weigh


def rescaling(t: Tiles) -> ScriptFunction:
    """A part of a kernel: (most, row_max, shifts, factors). The new row maxima, which are
    subtracted from scores, and the factors by which sums of smaller ones shrink."""
    height, lanes = t.height, t.lanes

    @script
    def rescale(most, row_max, shifts, factors):  # type: ignore[no-untyped-def]
        for i in range(height):
            for half in halves(lanes):
                for lane in vectorize(half):
                    most[i, lane] = maximum(most[i, lane], most[i, half + lane])
            shifts[i] = maximum(row_max[i], most[i, 0])
        for i in vectorize(height):
            best = shifts[i]
            shifts[i] = select(best == LOW, 0.0, best)
            factors[i] = exp(row_max[i] - shifts[i])
            row_max[i] = best

    return rescale


def writing(t: Tiles) -> ScriptFunction:
    """A part of a kernel: (row_sum, sums, y, z, top). The sums over what weights add up to."""

    @script
    def write(row_sum, sums, y, z, top):  # type: ignore[no-untyped-def]
        for i in range(t.height):
            for half in halves(t.lanes):
                for lane in vectorize(half):
                    row_sum[i, lane] += row_sum[i, half + lane]
            total = row_sum[i, 0]
            inverse = select(total == 0.0, 0.0, 1.0 / total)
            for piece in range(t.pieces):
                for c in vectorize(t.piece):
                    at = t.rows.row_at(z, top + i, piece * t.piece + c)
                    y.put(*at, cast(sums[piece, i, c] * inverse, t.op.q.dtype))

    return write
