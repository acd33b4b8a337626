"""Attention on the CPU in one pass over the keys, with no scores in memory.

A thread owns some rows of one head. Keys come by in tiles, from panels that lie as vectors are
read; the running softmax of each row is kept beside its sums (Milakov and Gimelshein 2018).
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type"
# mypy: disable-error-code="comparison-overlap"
from dataclasses import dataclass
from typing import Any

from hidet.compute.sizes import product
from hidet.compute.steps import stepped
from hidet.cost import Work
from hidet.lang import (
    ScriptFunction,
    attr,
    cast,
    cdiv,
    exp,
    load,
    parallel,
    register_tensor,
    script,
    script_module,
    select,
    static,
    store,
    vectorize,
)
from hidet.lang import max as maximum
from hidet.lang import min as minimum
from hidet.lang.memory import get
from hidet.ops.attention import Attention
from hidet.schedules.assemble import assemble
from hidet.schedules.attention import Rows, is_sized, mask_type, rows_of
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.space import choice
from hidet.schedules.typical import estimated
from hidet.target import Target
from hidet.types import f32

LOW = float("-inf")
WEIGHT = 100.0
"""Operations that it takes to make a weight of a score."""
TURN = 8000.0
"""Those that a row takes whenever it has met a panel of keys."""
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
        turns = -(-keys // tile)
        products = 2.0 * (turns * tile * rows.size + keys * rows.width) / busy
        flops = blocks * self.rows * seen * (products + turns * (tile * WEIGHT + TURN))
        return Work(*rows.nbytes, flops, "float32", blocks, 1)


class Tiles:
    """Where the elements of a tile are, and the types of the panels."""

    def __init__(self, op: Attention, target: Target, point: Lanes) -> None:
        self.op, self.rows = op, Rows(op, few=0)
        self.lanes = max(2, target.vector_bytes // f32.nbytes)
        self.height, self.vectors = point.rows, range(point.vectors)
        self.keys = point.vectors * self.lanes
        whole = -(-self.rows.width // self.lanes)
        self.pieces = -(-whole // point.vectors)
        self.across = range(-(-whole // self.pieces))
        """The vectors of a piece of a value, all of which meet the rows at once."""
        self.piece = len(self.across) * self.lanes
        self.count = cdiv(self.rows.keys, self.keys)
        self.down = cdiv(self.rows.length, self.height)
        self.heads = product((*self.rows.batch, op.k.shape[-3]))
        self.keys_type = f32[self.heads * self.count, self.rows.size, self.keys]
        values = (self.pieces, self.keys, self.piece)
        self.values_type = f32[self.heads * self.count, *values]


@schedule_for(Attention, target="cpu", space=Lanes, when=pays)
def attention_rows(op: Attention, target: Target, point: Lanes) -> Scheduled:
    """Panels of keys and values, then rows, over the threads."""
    t = Tiles(op, target, point)
    rows, height, keys = t.rows, t.height, t.keys

    with script_module():
        make_panels, score, weigh = making(t), scoring(t), weighing(t)

        @script
        def attend(
            q: op.q, k: op.k, v: op.v, mask: mask_type(op),
            panels: t.keys_type, values: t.values_type, y: op.infer(),
        ) -> None:  # fmt: skip
            attr.func_kind = "cpu_kernel"
            attr.func_name = op.name
            for panel in parallel(t.heads * t.count):
                make_panels(k, v, panels, values, panel)
            for task in parallel(rows.stacks * t.down):
                z, top = task // t.down, task % t.down * height
                own = register_tensor(f32, (height, rows.size))
                scores = register_tensor(f32, (height, keys))
                tops = register_tensor(f32, (height,), init=LOW)
                totals = register_tensor(f32, (height, t.lanes), init=0.0)
                sums = register_tensor(f32, (t.pieces, height, t.piece), init=0.0)
                for i in range(height):
                    for c in vectorize(rows.size):
                        own[i, c] = cast(get(q, *rows.row_at(z, top + i, c)), f32)
                seen = minimum(rows.keys, top + height) if op.causal else rows.keys
                for turn in range(cdiv(seen, keys)):
                    panel = z // rows.times * t.count + turn
                    score(own, panels, mask, scores, z, top, panel, turn * keys)
                    met = minimum(keys, seen - turn * keys)
                    weigh(scores, values, tops, totals, sums, panel, met)
                for i in range(height):
                    for half in halves(t.lanes):
                        for lane in vectorize(half):
                            totals[i, lane] += totals[i, half + lane]
                    total = totals[i, 0]
                    inverse = select(total == 0.0, 0.0, 1.0 / total)
                    for piece in range(t.pieces):
                        for c in vectorize(t.piece):
                            at = rows.row_at(z, top + i, piece * t.piece + c)
                            y.put(*at, cast(sums[piece, i, c] * inverse, op.q.dtype))

    module = assemble(op.name, [attend], op.operand_labels(), ["y"], ["panels", "values"])
    return Scheduled(module, point)


def halves(lanes: int) -> Any:
    """Half the lanes, a quarter of them and so on: what is added or compared at once, until one
    lane has it all."""
    return static([lanes >> step for step in range(1, lanes.bit_length())])


def making(t: Tiles) -> ScriptFunction:
    """A part of a kernel: (k, v, panels, values, panel). Keys become columns of a panel."""
    rows = t.rows

    @script
    def make_panels(k, v, panels, values, panel):  # type: ignore[no-untyped-def]
        head, first = panel // t.count, panel % t.count * t.keys
        key = register_tensor(f32, (rows.size,))
        for j in range(t.keys):
            for c in vectorize(rows.size):
                key[c] = cast(get(k, *rows.source_at(head, first + j, c)), f32)
            for c in range(rows.size):
                panels[panel, c, j] = key[c]
        for piece in range(t.pieces):
            for j in range(t.keys):
                for c in vectorize(t.piece):
                    at = rows.source_at(head, first + j, piece * t.piece + c)
                    values[panel, piece, j, c] = cast(get(v, *at), f32)

    return make_panels


def multiplying(t: Tiles, vectors: range, fresh: bool) -> ScriptFunction:
    """A part of a kernel: (left, right, done, factors, at, to, length): left times so many rows
    of the matrix at `right[*at]`. `done[*to]` becomes that if it is `fresh`; else it grows by that,
    each row rescaled first."""
    lanes, height = t.lanes, t.height
    own = [(i, v * lanes) for i in range(height) for v in vectors]

    @script
    def multiply(left, right, done, factors, at, to, length):  # type: ignore[no-untyped-def]
        sums = register_tensor(f32, (height, len(vectors) * lanes), init=0.0)
        for r in range(length):
            row = [load(right, *at, r, v * lanes, lanes=lanes) for v in vectors]
            for i in static(range(height)):
                each = left[i, r]
                for v in static(vectors):
                    kept = load(sums, i, v * lanes, lanes=lanes)
                    store(sums, i, v * lanes, kept + each * row[v])
        # Apart from the tile: sums stay in registers only while every index is a constant.
        for i, v in static(own):
            found = load(sums, i, v, lanes=lanes)
            if not fresh:
                found = factors[i] * load(done, *to, i, v, lanes=lanes) + found
            store(done, *to, i, v, found)

    return multiply


def scoring(t: Tiles) -> ScriptFunction:
    """A part of a kernel: (own, panels, mask, scores, z, top, panel, key). Scores after masks."""
    rows, op, height, keys = t.rows, t.op, t.height, t.keys
    multiply = multiplying(t, t.vectors, fresh=True)
    kept = op.mask is not None and op.mask.dtype.is_bool

    @script
    def score(own, panels, mask, scores, z, top, panel, key):  # type: ignore[no-untyped-def]
        multiply(own, panels, scores, own, (panel,), (), rows.size)
        for i in range(height):
            last = minimum(rows.keys - 1, top + i) if op.causal else rows.keys - 1
            for j in vectorize(keys):
                value = stepped(scores[i, j] * op.scale, op.steps)
                if op.mask is not None:
                    entry = get(mask, *rows.mask_at(z, top + i, key + j))
                    value = select(entry, value, LOW) if kept else value + cast(entry, f32)
                scores[i, j] = select(key + j <= last, value, LOW)

    return score


def weighing(t: Tiles) -> ScriptFunction:
    """A part of a kernel: (scores, values, tops, totals, sums, panel, met). Adds the weighted
    values of a panel, which has `met` of them."""
    height, keys, lanes = t.height, t.keys, t.lanes
    rescale, multiply = rescaling(t), multiplying(t, t.across, fresh=False)

    @script
    def weigh(scores, values, tops, totals, sums, panel, met):  # type: ignore[no-untyped-def]
        shifts = register_tensor(f32, (height,))
        factors = register_tensor(f32, (height,))
        rescale(scores, tops, shifts, factors)
        for i in range(height):
            for lane in vectorize(lanes):
                totals[i, lane] *= factors[i]
            for v in range(keys // lanes):
                for lane in vectorize(lanes):
                    weight = exp(scores[i, v * lanes + lane] - shifts[i])
                    scores[i, v * lanes + lane] = weight
                    totals[i, lane] += weight
        for piece in range(t.pieces):
            multiply(scores, values, sums, factors, (panel, piece), (piece,), met)

    return weigh


def rescaling(t: Tiles) -> ScriptFunction:
    """A part of a kernel: (scores, tops, shifts, factors). The new row maxima, which are subtracted
    from scores, and the factors by which sums shrink that were made with smaller ones."""
    height, keys, lanes = t.height, t.keys, t.lanes

    @script
    def rescale(scores, tops, shifts, factors):  # type: ignore[no-untyped-def]
        for i in range(height):
            most = register_tensor(f32, (lanes,), init=LOW)
            for v in range(keys // lanes):
                for lane in vectorize(lanes):
                    most[lane] = maximum(most[lane], scores[i, v * lanes + lane])
            for half in halves(lanes):
                for lane in vectorize(half):
                    most[lane] = maximum(most[lane], most[half + lane])
            shifts[i] = maximum(tops[i], most[0])
        for i in vectorize(height):
            best = shifts[i]
            shifts[i] = select(best == LOW, 0.0, best)
            factors[i] = exp(tops[i] - shifts[i])
            tops[i] = best

    return rescale
