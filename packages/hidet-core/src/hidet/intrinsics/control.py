"""Dependent launches, clocks, prefetching, stopping: what concerns time rather than values."""

from __future__ import annotations

from collections.abc import Iterator

from hidet.intrinsics.base import ORDERS, TOUCHES_NOTHING, Intrinsic, Spell, nothing
from hidet.intrinsics.context import Context
from hidet.intrinsics.expect import (
    expect,
    expect_dtype,
    expect_option,
    expect_pointer,
    expect_scalar,
)
from hidet.ir.stmt import Invoke
from hidet.types import i32, i64, u32, u64


def no_operands(invoke: Invoke) -> None:
    """It takes nothing."""
    expect(invoke, 0)


def check_clock(invoke: Invoke) -> None:
    """One 64-bit result, for clock32 a u32."""
    expect(invoke, 0, 1)
    expect_dtype(invoke, invoke.results[0], *((u32,) if invoke.name == "clock32" else (i64, u64)))


def check_sleep(invoke: Invoke) -> None:
    """A number of nanoseconds, u32."""
    expect(invoke, 1)
    expect_scalar(invoke, 0, u32, i32)


def check_prefetch(invoke: Invoke) -> None:
    """A pointer; the option names the cache."""
    expect(invoke, 1, 0, 1)
    expect_pointer(invoke, 0)
    expect_option(invoke, 0, "L1", "L2")


def check_breakpoint(invoke: Invoke) -> None:
    """Operands are the values to look at, options their names."""
    expect(invoke, len(invoke.options), 0, len(invoke.options))


def prefetch_text(invoke: Invoke, spell: Spell) -> str:
    """The instruction on a global address."""
    pointer = f"__cvta_generic_to_global({spell(invoke.args[0])})"
    return f'asm volatile("prefetch.global.{invoke.options[0]} [%0];" :: "l"({pointer}));'


def prefetch_text_of_cpus(invoke: Invoke, spell: Spell) -> str:
    """The builtin of GCC and Clang. It takes any address: what is beyond a tensor is not read."""
    level = ", 0, 2" if invoke.options[0] == "L2" else ""
    return f"__builtin_prefetch({spell(invoke.args[0])}{level});"


def clock_time(context: Context, invoke: Invoke) -> None:
    """A number that never goes back."""
    context.assign(invoke.results[0], context.time())


def slept(context: Context, invoke: Invoke) -> Iterator[None]:
    """Other threads get their turn."""
    context.value(invoke.args[0])
    context.rest()
    yield


def register(name: str, doc: str, text: str) -> Intrinsic:
    """One of the clocks."""

    def spelled(invoke: Invoke, spell: Spell) -> str:
        return text.format(spell(invoke.results[0]))

    return Intrinsic(name, doc, check_clock, TOUCHES_NOTHING, spelled, clock_time)


CONTROL = (
    Intrinsic(
        "griddepcontrol_wait",
        "Wait until the kernels before are complete and visible. PTX ISA: griddepcontrol.wait.",
        no_operands,
        ORDERS,
        lambda invoke, spell: 'asm volatile("griddepcontrol.wait;" ::: "memory");',
        lambda context, invoke: context.grid_wait(),
    ),
    Intrinsic(
        "griddepcontrol_launch_dependents",
        "Let the kernels after begin. PTX ISA: griddepcontrol.launch_dependents.",
        no_operands,
        TOUCHES_NOTHING,
        lambda invoke, spell: 'asm volatile("griddepcontrol.launch_dependents;" ::: "memory");',
        lambda context, invoke: context.grid_signal(),
    ),
    register("clock", "Cycles of this multiprocessor. PTX ISA: %clock64.", "{} = clock64();"),
    register("clock64", "The same as clock. PTX ISA: %clock64.", "{} = clock64();"),
    register(
        "clock32",
        "The low 32 bits of the cycles of this multiprocessor. PTX ISA: %clock.",
        'asm volatile("mov.u32 %0, %%clock;" : "=r"({}));',
    ),
    register(
        "globaltimer",
        "Nanoseconds of a clock that all multiprocessors share. PTX ISA: %globaltimer.",
        '{{ unsigned long long hidet_time; asm volatile("mov.u64 %0, %%globaltimer;" '
        ': "=l"(hidet_time)); {} = hidet_time; }}',
    ),
    Intrinsic(
        "nanosleep",
        "Let the thread rest for about so many nanoseconds. PTX ISA: nanosleep.",
        check_sleep,
        TOUCHES_NOTHING,
        lambda invoke, spell: f"__nanosleep({spell(invoke.args[0])});",
        slept,
    ),
    Intrinsic(
        "trap",
        "Stop the kernel with an error. PTX ISA: trap.",
        no_operands,
        TOUCHES_NOTHING,
        lambda invoke, spell: "__trap();",
        lambda context, invoke: context.trap(),
    ),
    Intrinsic(
        "breakpoint",
        "Stop in Python's debugger when simulated; nothing on a device. Options name the operands. "
        "No instruction of the PTX ISA.",
        check_breakpoint,
        TOUCHES_NOTHING,
        lambda invoke, spell: "/* breakpoint(): only in the simulator */",
        lambda context, invoke: context.stop(dict(zip(invoke.options, invoke.args, strict=True))),
    ),
    Intrinsic(
        "prefetch",
        'Bring the line at a global address into "L1" or "L2". PTX ISA: prefetch.',
        check_prefetch,
        TOUCHES_NOTHING,
        prefetch_text,
        nothing,
        prefetch_text_of_cpus,
    ),
)
