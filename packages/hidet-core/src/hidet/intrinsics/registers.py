"""setmaxnreg: registers that warpgroups of a block give to each other. PTX ISA: setmaxnreg.

The option is how many registers a thread has afterwards. Those given back go to a pool of the
block; one that asks for more waits until the pool has them. The kernel must say how many blocks fit
a multiprocessor, or the instruction is ignored (ptxas message C7508).
"""

from __future__ import annotations

from hidet.errors import BadKernel
from hidet.intrinsics.base import TOUCHES_NOTHING, Intrinsic, Spell
from hidet.intrinsics.expect import expect
from hidet.ir.stmt import Invoke

FEWEST, MOST, STEP = 24, 256, 8


def check_count(invoke: Invoke) -> None:
    """A multiple of 8 from 24 to 256."""
    expect(invoke, 0, 0, 1)
    count = invoke.options[0]
    if not isinstance(count, int) or not FEWEST <= count <= MOST or count % STEP:
        raise BadKernel(
            f"{invoke.name} takes a multiple of 8 from 24 to 256, not {count!r}",
            place=invoke.place,
        )


def change(name: str, action: str, doc: str) -> Intrinsic:
    """One direction."""

    def text(invoke: Invoke, spell: Spell) -> str:
        return f'asm volatile("setmaxnreg.{action}.sync.aligned.u32 {invoke.options[0]};");'

    return Intrinsic(
        name,
        doc + " PTX ISA: setmaxnreg.",
        check_count,
        TOUCHES_NOTHING,
        text,
        lambda context, invoke: context.set_registers(invoke.options[0], action == "inc"),
    )


REGISTER_COUNTS = (
    change("setmaxnreg_inc", "inc", "The warpgroup takes registers from the block's pool."),
    change("setmaxnreg_dec", "dec", "The warpgroup gives registers to the block's pool."),
)
