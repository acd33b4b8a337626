"""mbarriers: barriers in shared memory at which threads and asynchronous copies arrive.

An mbarrier is 8 bytes (u64) of shared memory. It passes through phases; the current one completes
when no arrivals and no bytes are missing. A wait names a phase by its parity, or by the state that
an arrival in it returned: the wait by parity p ends when the newest phase of that parity that may
have completed has, so on a fresh barrier the wait by parity 1 ends at once.
PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from hidet.errors import BadKernel
from hidet.intrinsics.base import ORDERS, Effects, Intrinsic, Spell
from hidet.intrinsics.context import Context
from hidet.intrinsics.expect import (
    expect,
    expect_dtype,
    expect_option,
    expect_pointer,
    expect_scalar,
)
from hidet.ir.stmt import Invoke
from hidet.types import boolean, i32, i64, u32, u64

NUMBERS = (i32, u32)


def check_barrier(invoke: Invoke) -> None:
    """The address of an mbarrier and nothing else."""
    expect(invoke, 1)
    expect_pointer(invoke, 0, u64, i64)


def check_number(invoke: Invoke) -> None:
    """The address of an mbarrier and a number; arrivals may give their state."""
    arrives = invoke.name.startswith("mbarrier_arrive")
    expect(invoke, 2, len(invoke.results[:1]) if arrives else 0)
    expect_pointer(invoke, 0, u64, i64)
    expect_scalar(invoke, 1, *NUMBERS)
    for state in invoke.results:
        expect_dtype(invoke, state, u64)


def check_wait(invoke: Invoke) -> None:
    """The address of an mbarrier and a parity or a state, as the option says."""
    expect(invoke, 2, 0 if invoke.name == "mbarrier_wait" else 1, 1)
    expect_pointer(invoke, 0, u64, i64)
    by_state = expect_option(invoke, 0, "parity", "state") == "state"
    expect_scalar(invoke, 1, *((u64,) if by_state else NUMBERS))
    for result in invoke.results:
        expect_dtype(invoke, result, boolean)


def check_fence(invoke: Invoke) -> None:
    """It takes nothing."""
    expect(invoke, 0)


def check_proxy(invoke: Invoke) -> None:
    """The option says which memory."""
    if invoke.args or invoke.results or len(invoke.options) != 1:
        raise BadKernel(f"{invoke.name} takes nothing but one option", place=invoke.place)
    expect_option(invoke, 0, "all", "shared::cta", "global")


def changes(invoke: Invoke) -> Effects:
    """Changes an mbarrier, and orders accesses of several threads."""
    return Effects(reads=invoke.args[:1], writes=invoke.args[:1], barrier=True)


# ---- text ----------------------------------------------------------------------------------------


def shared_address(pointer: str) -> str:
    """The operand for an address in shared memory."""
    return f'"r"(static_cast<unsigned>(__cvta_generic_to_shared({pointer})))'


def statement(instruction: str) -> Callable[[Invoke, Spell], str]:
    """The text of an instruction on an mbarrier and perhaps a number."""

    def text(invoke: Invoke, spell: Spell) -> str:
        pointer, *numbers = map(spell, invoke.args)
        number = "".join(f', "r"({each})' for each in numbers)
        comma = ", %1" if numbers else ""
        return (
            f'asm volatile("{instruction} [%0]{comma};" '
            f':: {shared_address(pointer)}{number} : "memory");'
        )

    return text


def arriving(instruction: str) -> Callable[[Invoke, Spell], str]:
    """The text of an arrival, with its state if that is asked for."""

    def text(invoke: Invoke, spell: Spell) -> str:
        pointer, number = map(spell, invoke.args)
        operands = f'{shared_address(pointer)}, "r"({number}) : "memory"'
        if not invoke.results:
            return f'asm volatile("{instruction} _, [%0], %1;" :: {operands});'
        return (
            "{ unsigned long long hidet_state; "
            f'asm volatile("{instruction} %0, [%1], %2;" : "=l"(hidet_state) : {operands}); '
            f"{spell(invoke.results[0])} = hidet_state; }}"
        )

    return text


def looking(instruction: str) -> Callable[[Invoke, Spell], str]:
    """The text of a test, or of tests until one holds."""

    def text(invoke: Invoke, spell: Spell) -> str:
        pointer, phase = map(spell, invoke.args)
        by_state = invoke.options[0] == "state"
        name = instruction if by_state else f"{instruction}.parity"
        kind = "l" if by_state else "r"
        look = (
            'asm volatile("{ .reg .pred done; '
            f'mbarrier.{name}.shared::cta.b64 done, [%1], %2; selp.b32 %0, 1, 0, done; }}" '
            f': "=r"(hidet_done) : {shared_address(pointer)}, "{kind}"({phase}) : "memory");'
        )
        if invoke.results:
            return f"{{ unsigned hidet_done; {look} {spell(invoke.results[0])} = hidet_done; }}"
        return f"{{ unsigned hidet_done; do {{ {look} }} while (!hidet_done); }}"

    return text


def proxy_text(invoke: Invoke, spell: Spell) -> str:
    """The fence, for all memory or one state space."""
    where = "" if invoke.options[0] == "all" else f".{invoke.options[0]}"
    return f'asm volatile("fence.proxy.async{where};" ::: "memory");'


# ---- meaning -------------------------------------------------------------------------------------


def initialised(context: Context, invoke: Invoke) -> None:
    """A fresh barrier, in phase 0."""
    context.mbarrier_init(invoke.args[0], context.value(invoke.args[1]))


def arrived(context: Context, invoke: Invoke) -> None:
    """Each thread arrives; the state is the number of the phase."""
    give(
        context,
        invoke,
        context.mbarrier_arrive(invoke.args[0], context.value(invoke.args[1]), None),
    )


def arrived_expecting(context: Context, invoke: Invoke) -> None:
    """Each thread expects bytes, then arrives once."""
    nbytes = context.value(invoke.args[1])
    give(context, invoke, context.mbarrier_arrive(invoke.args[0], np.ones_like(nbytes), nbytes))


def give(context: Context, invoke: Invoke, state: np.ndarray) -> None:
    """Assign the state, if the call has a result."""
    if invoke.results:
        context.assign(invoke.results[0], state)


def expected(context: Context, invoke: Invoke) -> None:
    """The current phase expects bytes."""
    context.mbarrier_expect(invoke.args[0], context.value(invoke.args[1]))


def tested(context: Context, invoke: Invoke) -> None:
    """Whether the phase has completed."""
    by_state = invoke.options[0] == "state"
    done = context.mbarrier_test(invoke.args[0], context.value(invoke.args[1]), by_state)
    context.assign(invoke.results[0], done)


def tried(context: Context, invoke: Invoke) -> Iterator[None]:
    """Whether the phase has completed, after others had time to do something."""
    by_state, phase = invoke.options[0] == "state", context.value(invoke.args[1])
    done = context.mbarrier_test(invoke.args[0], phase, by_state)
    if not done[context.mask].all():
        yield
        done = context.mbarrier_test(invoke.args[0], phase, by_state)
    context.assign(invoke.results[0], done)


def waited(context: Context, invoke: Invoke) -> Iterator[None]:
    """Until the phase has completed."""
    by_state = invoke.options[0] == "state"
    return context.mbarrier_wait(invoke.args[0], context.value(invoke.args[1]), by_state)


MBARRIERS = (
    Intrinsic(
        "mbarrier_init",
        "Make 8 bytes of shared memory an mbarrier. PTX ISA: mbarrier.init.",
        check_number,
        changes,
        statement("mbarrier.init.shared::cta.b64"),
        initialised,
    ),
    Intrinsic(
        "mbarrier_inval",
        "Make an mbarrier ordinary memory again. PTX ISA: mbarrier.inval.",
        check_barrier,
        changes,
        statement("mbarrier.inval.shared::cta.b64"),
        lambda context, invoke: context.mbarrier_inval(invoke.args[0]),
    ),
    Intrinsic(
        "fence_mbarrier_init",
        "Show initialisations to the cluster and to asynchronous operations. "
        "PTX ISA: fence.mbarrier_init.",
        check_fence,
        ORDERS,
        lambda invoke, spell: 'asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");',
        lambda context, invoke: context.mbarrier_fence_init(),
    ),
    Intrinsic(
        "mbarrier_arrive",
        "Arrive a number of times; the result, if asked for, is the state. "
        "PTX ISA: mbarrier.arrive.",
        check_number,
        changes,
        arriving("mbarrier.arrive.shared::cta.b64"),
        arrived,
    ),
    Intrinsic(
        "mbarrier_arrive_expect_tx",
        "Expect bytes, and arrive once. PTX ISA: mbarrier.arrive.expect_tx.",
        check_number,
        changes,
        arriving("mbarrier.arrive.expect_tx.shared::cta.b64"),
        arrived_expecting,
    ),
    Intrinsic(
        "mbarrier_expect_tx",
        "The current phase expects bytes. PTX ISA: mbarrier.expect_tx.",
        check_number,
        changes,
        statement("mbarrier.expect_tx.relaxed.cta.shared::cta.b64"),
        expected,
    ),
    Intrinsic(
        "mbarrier_test_wait",
        "Whether a phase has completed. PTX ISA: mbarrier.test_wait.",
        check_wait,
        changes,
        looking("test_wait"),
        tested,
    ),
    Intrinsic(
        "mbarrier_try_wait",
        "Whether a phase has completed, after some time. PTX ISA: mbarrier.try_wait.",
        check_wait,
        changes,
        looking("try_wait"),
        tried,
    ),
    Intrinsic(
        "mbarrier_wait",
        "Wait until a phase has completed. PTX ISA: mbarrier.try_wait.",
        check_wait,
        changes,
        looking("try_wait"),
        waited,
    ),
    Intrinsic(
        "fence_proxy_async",
        'Show ordinary accesses to "shared::cta", "global" or "all" memory to asynchronous '
        "operations. PTX ISA: membar / fence, fence.proxy.async.",
        check_proxy,
        ORDERS,
        proxy_text,
        lambda context, invoke: context.fence_proxy(invoke.options[0]),
    ),
)
