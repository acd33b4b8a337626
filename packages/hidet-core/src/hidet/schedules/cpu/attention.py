"""Attention on the CPU in one pass over the keys, with no scores in memory.

A thread owns some rows of one head. Keys come by in tiles, from panels that lie as vectors are
read; the running softmax of each row is kept beside its sums (Milakov and Gimelshein 2018).
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type"
# mypy: disable-error-code="comparison-overlap"
from dataclasses import dataclass

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
        """Whole tiles, two loads at most for each multiply-add; panels are made once."""
        rows = rows_of(op)
        sums = self.rows * self.vectors
        busy = min(1.0, sums / 10) * min(1.0, 1.5 * sums / (self.rows + self.vectors))
        seen = 0.5 if op.causal else 1.0
        blocks = estimated(rows.stacks) * -(-estimated(rows.count) // self.rows)
        tile = self.vectors * target.vector_bytes // 4
        keys = -(-estimated(rows.keys) // tile) * tile
        flops = 2.0 * blocks * self.rows * keys * seen * (rows.size + rows.width) / busy
        return Work(*rows.nbytes, flops, "float32", blocks, 1)


class Tiles:
    """Where the elements of a tile are, and the types of the panels."""

    def __init__(self, op: Attention, target: Target, point: Lanes) -> None:
        self.op, self.rows = op, Rows(op, few=0)
        self.lanes = max(2, target.vector_bytes // f32.nbytes)
        self.height, self.vectors = point.rows, range(point.vectors)
        self.keys = point.vectors * self.lanes
        self.width = -(-self.rows.width // self.keys) * self.keys
        self.count = cdiv(self.rows.keys, self.keys)
        self.down = cdiv(self.rows.length, self.height)
        self.heads = product((*self.rows.batch, op.k.shape[-3]))
        self.keys_type = f32[self.heads * self.count, self.rows.size, self.keys]
        pieces = self.width // self.keys
        self.values_type = f32[self.heads * self.count, pieces, self.keys, self.keys]


@schedule_for(Attention, target="cpu", space=Lanes, when=pays)
def attention_rows(op: Attention, target: Target, point: Lanes) -> Scheduled:
    """Panels of keys and values, then rows, over the threads."""
    t = Tiles(op, target, point)
    rows, height, keys = t.rows, t.height, t.keys
    pieces = t.width // keys

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
                sums = register_tensor(f32, (pieces, height, keys), init=0.0)
                for i in range(height):
                    for c in vectorize(rows.size):
                        own[i, c] = cast(get(q, *rows.row_at(z, top + i, c)), f32)
                seen = minimum(rows.keys, top + height) if op.causal else rows.keys
                for turn in range(cdiv(seen, keys)):
                    panel = z // rows.times * t.count + turn
                    score(own, panels, mask, scores, z, top, panel, turn * keys)
                    weigh(scores, values, tops, totals, sums, panel)
                for i in range(height):
                    total = cast(0.0, f32)
                    for lane in range(t.lanes):
                        total += totals[i, lane]
                    inverse = select(total == 0.0, 0.0, 1.0 / total)
                    for piece in range(pieces):
                        for c in vectorize(keys):
                            at = rows.row_at(z, top + i, piece * keys + c)
                            y.put(*at, cast(sums[piece, i, c] * inverse, op.q.dtype))

    module = assemble(op.name, [attend], op.operand_labels(), ["y"], ["panels", "values"])
    return Scheduled(module, point)


def making(t: Tiles) -> ScriptFunction:
    """A part of a kernel: (k, v, panels, values, panel). Keys become columns of a panel."""
    rows = t.rows

    @script
    def make_panels(k, v, panels, values, panel):  # type: ignore[no-untyped-def]
        head, first = panel // t.count, panel % t.count * t.keys
        for j in range(t.keys):
            for c in range(rows.size):
                panels[panel, c, j] = cast(get(k, *rows.source_at(head, first + j, c)), f32)
        for piece in range(t.width // t.keys):
            for j in range(t.keys):
                for c in vectorize(t.keys):
                    at = rows.source_at(head, first + j, piece * t.keys + c)
                    values[panel, piece, j, c] = cast(get(v, *at), f32)

    return make_panels


def multiplying(t: Tiles, length: int) -> ScriptFunction:
    """A part of a kernel: (left, right, sums, at): adds left times the matrix at `right[*at]`."""
    lanes, vectors, height = t.lanes, t.vectors, t.height

    @script
    def multiply(left, right, done, at, to):  # type: ignore[no-untyped-def]
        sums = register_tensor(f32, (height, t.keys), init=0.0)
        for r in range(length):
            row = [load(right, *at, r, v * lanes, lanes=lanes) for v in vectors]
            for i in static(range(height)):
                each = left[i, r]
                for v in static(vectors):
                    kept = load(sums, i, v * lanes, lanes=lanes)
                    store(sums, i, v * lanes, kept + each * row[v])
        # Apart from the tile: sums stay in registers only while every index is a constant.
        for i, v in static([(i, v * lanes) for i in range(height) for v in vectors]):
            before = load(done, *to, i, v, lanes=lanes)
            store(done, *to, i, v, before + load(sums, i, v, lanes=lanes))

    return multiply


def scoring(t: Tiles) -> ScriptFunction:
    """A part of a kernel: (own, panels, mask, scores, z, top, panel, key). Scores after masks."""
    rows, op, height, keys = t.rows, t.op, t.height, t.keys
    multiply = multiplying(t, rows.size)
    kept = op.mask is not None and op.mask.dtype.is_bool

    @script
    def score(own, panels, mask, scores, z, top, panel, key):  # type: ignore[no-untyped-def]
        for i in range(height):
            for j in vectorize(keys):
                scores[i, j] = 0.0
        multiply(own, panels, scores, (panel,), ())
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
    """A part of a kernel: (scores, values, tops, totals, sums, panel). Adds weighted values.

    What was summed for smaller scores fades as larger ones come.
    """
    height, keys, lanes, pieces = t.height, t.keys, t.lanes, t.width // t.keys
    multiply = multiplying(t, keys)

    @script
    def weigh(scores, values, tops, totals, sums, panel):  # type: ignore[no-untyped-def]
        for i in range(height):
            most = register_tensor(f32, (lanes,), init=LOW)
            for v in range(keys // lanes):
                for lane in vectorize(lanes):
                    most[lane] = maximum(most[lane], scores[i, v * lanes + lane])
            best = tops[i]
            for lane in range(lanes):
                best = maximum(best, most[lane])
            shift = select(best == LOW, 0.0, best)
            fade = exp(tops[i] - shift)
            tops[i] = best
            for lane in vectorize(lanes):
                totals[i, lane] *= fade
            for v in range(keys // lanes):
                for lane in vectorize(lanes):
                    weight = exp(scores[i, v * lanes + lane] - shift)
                    scores[i, v * lanes + lane] = weight
                    totals[i, lane] += weight
            for piece in range(pieces):
                for c in vectorize(keys):
                    sums[piece, i, c] *= fade
        for piece in range(pieces):
            multiply(scores, values, sums, (panel, piece), (piece,))

    return weigh
