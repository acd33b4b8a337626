"""Groups of wgmma: what orders products after ordinary code, and ordinary code after products.

Operands of a fence or a wait are pointers to registers that it concerns, with the number of
elements of each as options: as operands of the statement they keep the compiler from moving
accesses across it. PTX ISA: wgmma.fence, wgmma.commit_group, wgmma.wait_group.
"""

from __future__ import annotations

from typing import Any

from hidet.errors import BadKernel
from hidet.intrinsics.base import Effects, Intrinsic, Spell
from hidet.intrinsics.expect import expect, expect_pointer
from hidet.intrinsics.tensor_cores.mma import expect_room, registers, words
from hidet.ir.stmt import Invoke


def check_fence(invoke: Invoke) -> None:
    """Pointers to registers; for each as an option how many elements there are."""
    expect(invoke, len(invoke.args), 0, len(invoke.args))
    check_counts(invoke, invoke.options)


def check_wait(invoke: Invoke) -> None:
    """As of a fence, after how many groups may still be under way."""
    expect(invoke, len(invoke.args), 0, 1 + len(invoke.args))
    pending = invoke.options[0]
    if not isinstance(pending, int) or not 0 <= pending < 8:
        raise BadKernel(
            f"wgmma_wait_group leaves 0 to 7 groups under way, not {pending!r}", place=invoke.place
        )
    check_counts(invoke, invoke.options[1:])


def check_counts(invoke: Invoke, counts: tuple[Any, ...]) -> None:
    """Whole registers behind each pointer."""
    for n, count in enumerate(counts):
        of = expect_pointer(invoke, n)
        if not isinstance(count, int) or count < 1 or count * of.bits % 32:
            raise BadKernel(
                f"{invoke.name} names whole registers, not {count!r} elements of {of}",
                place=invoke.place,
            )
        expect_room(invoke, n, count)


def nothing_given(invoke: Invoke) -> None:
    """It takes nothing."""
    expect(invoke, 0)


def ordering(invoke: Invoke) -> Effects:
    """Everything about the registers named happens before it or after it."""
    return Effects(reads=invoke.args, writes=invoke.args)


def ordering_text(instruction: str, named: tuple[str, ...]) -> str:
    """The registers named are read and written by the statement, so that nothing passes it."""
    held = f" : {', '.join(named)}" if named else " :"
    return f'asm volatile("{instruction};"{held} :: "memory");'


def named_registers(invoke: Invoke, spell: Spell, counts: tuple[Any, ...]) -> tuple[str, ...]:
    """The asm operands of a fence or a wait."""
    found: list[str] = []
    for arg, count in zip(invoke.args, counts, strict=True):
        found += registers(spell(arg), arg.dtype, words(arg.dtype, count), "+")
    return tuple(found)


def fence_text(invoke: Invoke, spell: Spell) -> str:
    """Order the registers' ordinary accesses before the products that follow."""
    named = named_registers(invoke, spell, invoke.options)
    return ordering_text("wgmma.fence.sync.aligned", named)


def wait_text(invoke: Invoke, spell: Spell) -> str:
    """Wait until at most that many groups are left."""
    named = named_registers(invoke, spell, invoke.options[1:])
    return ordering_text(f"wgmma.wait_group.sync.aligned {invoke.options[0]}", named)


WGMMA_GROUPS = (
    Intrinsic(
        "wgmma_fence",
        "Order accesses of registers before the products that follow. PTX ISA: wgmma.fence.",
        check_fence,
        ordering,
        fence_text,
        lambda context, invoke: context.matrix_unit().fence(),
    ),
    Intrinsic(
        "wgmma_commit_group",
        "The products since the last commit are one group. PTX ISA: wgmma.commit_group.",
        nothing_given,
        ordering,
        lambda invoke, spell: 'asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");',
        lambda context, invoke: context.matrix_unit().commit(),
    ),
    Intrinsic(
        "wgmma_wait_group",
        "Wait until at most that many groups are left. PTX ISA: wgmma.wait_group.",
        check_wait,
        ordering,
        wait_text,
        lambda context, invoke: context.matrix_unit().wait(invoke.options[0]),
    ),
)
