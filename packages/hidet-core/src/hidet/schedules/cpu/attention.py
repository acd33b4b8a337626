"""Attention on the CPU in one pass over the keys, with no scores in memory.

A thread owns some rows of one head. Keys come by in tiles, from panels that lie as vectors are
read; the running softmax of each row is kept beside its sums (Milakov and Gimelshein 2018).
Queries, keys, weights and values are multiplied in float32, or as pairs of bfloat16 where they are
of that type and the machine has an instruction for it.
"""

from __future__ import annotations

# The body of a script is a language of its own, which a checker of Python cannot follow.
# mypy: disable-error-code="attr-defined, union-attr, valid-type, name-defined, arg-type"
# mypy: disable-error-code="comparison-overlap"
from dataclasses import dataclass

from hidet.compute.steps import stepped
from hidet.cost import Work
from hidet.lang import (
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
from hidet.ops.attention import Attention
from hidet.schedules.assemble import assemble
from hidet.schedules.attention import is_sized, mask_type, rows_of
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.cpu.attention_tiles import Tiles, grouped, halves, multiplying
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
        products = 2.0 * (turns * tile * rows.size + keys * rows.width) / busy / grouped(op, target)
        flops = blocks * self.rows * seen * (products + turns * (tile * WEIGHT + TURN))
        return Work(*rows.nbytes, flops, "float32", blocks, 1)


@schedule_for(Attention, target="cpu", space=Lanes, when=pays)
def attention_rows(op: Attention, target: Target, point: Lanes) -> Scheduled:
    """Panels of keys and values, then rows, over the threads."""
    t = Tiles(op, target, point.rows, point.vectors)
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
                own = register_tensor(t.held, (height, t.depth * t.group), init=0.0)
                scores = register_tensor(f32, (height, keys))
                weights = register_tensor(t.held, (height, keys))
                tops = register_tensor(f32, (height,), init=LOW)
                totals = register_tensor(f32, (height, t.lanes), init=0.0)
                sums = register_tensor(f32, (t.pieces, height, t.piece), init=0.0)
                for i in range(height):
                    for c in vectorize(rows.size):
                        own[i, c] = cast(get(q, *rows.row_at(z, top + i, c)), t.held)
                seen = minimum(rows.keys, top + height) if op.causal else rows.keys
                for turn in range(cdiv(seen, keys)):
                    panel = z // rows.times * t.count + turn
                    score(own, panels, mask, scores, z, top, panel, turn * keys)
                    met = minimum(keys, seen - turn * keys)
                    weigh(scores, weights, values, tops, totals, sums, panel, met)
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
                        values[panel, piece, j, c * group + each] = cast(found, t.held)

    return make_panels


def scoring(t: Tiles) -> ScriptFunction:
    """A part of a kernel: (own, panels, mask, scores, z, top, panel, key). Scores after masks."""
    rows, op, height, keys = t.rows, t.op, t.height, t.keys
    multiply = multiplying(t, t.vectors, fresh=True)
    kept = op.mask is not None and op.mask.dtype.is_bool

    @script
    def score(own, panels, mask, scores, z, top, panel, key):  # type: ignore[no-untyped-def]
        multiply(own, panels, scores, own, (panel,), (), t.depth)
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
    """A part of a kernel: (scores, weights, values, tops, totals, sums, panel, met). Adds the
    weighted values of a panel, which has `met` of them."""
    height, keys, lanes = t.height, t.keys, t.lanes
    rescale, multiply = rescaling(t), multiplying(t, t.across, fresh=False)

    @script
    def weigh(scores, weights, values, tops, totals, sums, panel, met):  # type: ignore[no-untyped-def]
        shifts = register_tensor(f32, (height,))
        factors = register_tensor(f32, (height,))
        rescale(scores, tops, shifts, factors)
        for i in range(height):
            for lane in vectorize(lanes):
                totals[i, lane] *= factors[i]
            for v in range(keys // lanes):
                for lane in vectorize(lanes):
                    weight = exp(scores[i, v * lanes + lane] - shifts[i])
                    weights[i, v * lanes + lane] = cast(weight, t.held)
                    totals[i, lane] += weight
        groups = cdiv(met, t.group)
        for piece in range(t.pieces):
            multiply(weights, values, sums, factors, (panel, piece), (piece,), groups)

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
