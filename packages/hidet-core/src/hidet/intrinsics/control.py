"""Dependent launches, the clock, prefetching: what concerns time rather than values."""

from __future__ import annotations

from hidet.intrinsics.base import (
    Context,
    Effects,
    Intrinsic,
    Spell,
    expect,
    expect_dtype,
    expect_option,
    expect_pointer,
    fixed,
    nothing,
)
from hidet.ir.stmt import Invoke
from hidet.types import i64, u64

LASTING = fixed(Effects(lasting=True))
ORDERS = fixed(Effects(barrier=True, lasting=True))


def no_operands(invoke: Invoke) -> None:
    """It takes nothing."""
    expect(invoke, 0)


def check_clock(invoke: Invoke) -> None:
    """One 64-bit result."""
    expect(invoke, 0, 1)
    expect_dtype(invoke, invoke.results[0], i64, u64)


def check_prefetch(invoke: Invoke) -> None:
    """A pointer; the option names the cache."""
    expect(invoke, 1, 0, 1)
    expect_pointer(invoke, 0)
    expect_option(invoke, 0, "L1", "L2")


def prefetch_text(invoke: Invoke, spell: Spell) -> str:
    """The instruction on a global address."""
    pointer = f"__cvta_generic_to_global({spell(invoke.args[0])})"
    return f'asm volatile("prefetch.global.{invoke.options[0]} [%0];" :: "l"({pointer}));'


def told_time(context: Context, invoke: Invoke) -> None:
    """A number that never goes back."""
    context.assign(invoke.results[0], context.time())


CONTROL = (
    Intrinsic(
        "griddepcontrol_wait",
        "Wait until the kernels before are complete and visible. PTX ISA: griddepcontrol.wait.",
        no_operands,
        ORDERS,
        lambda invoke, spell: 'asm volatile("griddepcontrol.wait;" ::: "memory");',
        nothing,
    ),
    Intrinsic(
        "griddepcontrol_launch_dependents",
        "Let the kernels after begin. PTX ISA: griddepcontrol.launch_dependents.",
        no_operands,
        LASTING,
        lambda invoke, spell: 'asm volatile("griddepcontrol.launch_dependents;" ::: "memory");',
        nothing,
    ),
    Intrinsic(
        "clock",
        "A counter of cycles of this multiprocessor. PTX ISA: %clock64.",
        check_clock,
        LASTING,
        lambda invoke, spell: f"{spell(invoke.results[0])} = clock64();",
        told_time,
    ),
    Intrinsic(
        "prefetch",
        'Bring the line at a global address into "L1" or "L2". PTX ISA: prefetch.',
        check_prefetch,
        LASTING,
        prefetch_text,
        nothing,
    ),
)
