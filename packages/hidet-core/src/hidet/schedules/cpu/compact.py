"""The places where a mask holds, on the CPU: pieces of the mask over the threads.

Each piece counts what it has, so that the places of all pieces are known; then it lists its own. A
block in which the mask holds everywhere or nowhere is known from its count; in others the next
place is written for each element, and stays where the mask holds: nothing branches on the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hidet.cost import Work
from hidet.lang import (
    Global,
    ScriptFunction,
    attr,
    cast,
    cdiv,
    load,
    parallel,
    register_tensor,
    reinterpret,
    script,
    script_module,
    static,
    vectorize,
)
from hidet.ops.indexing.compact import Compact
from hidet.schedules.assemble import assemble
from hidet.schedules.base import Scheduled, schedule_for
from hidet.schedules.typical import estimated
from hidet.target import Target
from hidet.types import i32, u8, u64

BLOCK = 64
"""Elements that are counted at once, as bytes of a few words."""
PIECE = 1 << 14
"""Elements that a thread takes at a time."""
EACH = 0x0101010101010101
"""A one in each byte of a word."""
STEP = 3.0
"""Operations that one element takes as long as."""


@dataclass(frozen=True)
class Pieces:
    """Of a mask, over the threads."""

    def fits(self, op: Compact, target: Target) -> bool:
        """Everywhere."""
        return True

    def work(self, op: Compact, target: Target) -> Work:
        """Each element once."""
        size = estimated(op.mask.shape[0])
        return Work(0, 0, STEP * size, "float32", max(1, size // PIECE), 1)


@schedule_for(Compact, target="cpu", space=Pieces)
def compacted(op: Compact, target: Target, point: Pieces) -> Scheduled:
    """Pieces of the mask over the threads."""
    size: Any = op.mask.shape[0]
    pieces = cdiv(size, PIECE)

    with script_module():
        read = reading()
        listed = listing(read)

        @script(mask=op.mask, starts=i32[pieces], y=op.infer())
        def compact(mask: Global, starts: Global, y: Global) -> None:
            attr.func_kind = "cpu_kernel"
            attr.func_name = op.name
            for piece in parallel(pieces):
                found = cast(0, i32)
                here = min(size - piece * PIECE, PIECE)
                for block in range(here // BLOCK):
                    found += read(mask, register_tensor(u8, BLOCK), piece * PIECE + block * BLOCK)
                for rest in range(here % BLOCK):
                    found += cast(mask.get(piece * PIECE + here - 1 - rest), i32)
                starts[piece] = found
            ahead = 0
            for piece in range(pieces):
                found = starts[piece]
                starts[piece] = ahead
                ahead += found
            for piece in parallel(pieces):
                to = starts[piece]
                here = min(size - piece * PIECE, PIECE)
                for block in range(here // BLOCK):
                    to = listed(mask, y, piece * PIECE + block * BLOCK, to)
                for rest in range(here % BLOCK):
                    at = piece * PIECE + here // BLOCK * BLOCK + rest
                    if mask.get(at):
                        y.put(to, at)
                        to += 1

    module = assemble(op.name, [compact], op.operand_labels(), ["y"], ["starts"])
    return Scheduled(module, point)


def reading() -> ScriptFunction:
    """A part of a kernel: a block of the mask from `first` on as bytes of 0 and 1, and how many are
    1."""

    @script
    def read(mask, held, first):  # type: ignore[no-untyped-def]
        for i in vectorize(BLOCK):
            held[i] = cast(mask.get(first + i), u8)
        total = cast(0, u64)
        for word in static(range(BLOCK // 8)):
            total += reinterpret(load(held, word * 8, lanes=8), u64)
        return cast((total * EACH) >> 56, i32)

    return read


def listing(read: ScriptFunction) -> ScriptFunction:
    """A part of a kernel: write the places of a block from `first` on where the mask holds, from
    number `to` on; what comes next is returned."""

    @script
    def listed(mask, y, first, to):  # type: ignore[no-untyped-def]
        held = register_tensor(u8, BLOCK)
        count = read(mask, held, first)
        if count == BLOCK:
            for i in vectorize(BLOCK):
                y.put(to + i, first + i)
        else:
            number = cast(0, i32)
            for at in range(BLOCK):
                if number < count:
                    y.put(to + number, first + at)
                    number += cast(held[at], i32)
        return to + count

    return listed
