"""cp.async: copies from global to shared memory that run beside the thread. PTX ISA: cp.async.

Operands of `cp_async` are (target in shared memory, source[, bytes to take: i32]); the option is
the size, 4, 8 or 16 bytes. Bytes of the size beyond those taken become zero. The copies become
visible to the thread by a wait, and to the others by a barrier after it; or to all who wait for a
phase of an mbarrier.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hidet.errors import BadKernel
from hidet.intrinsics.base import TOUCHES_NOTHING, Effects, Intrinsic, Spell
from hidet.intrinsics.context import Context
from hidet.intrinsics.expect import expect, expect_option, expect_pointer, expect_scalar
from hidet.intrinsics.synchronization.mbarrier import changes, shared_address
from hidet.ir.stmt import Invoke
from hidet.types import i32, i64, u64

SIZES = (4, 8, 16)


def check_copy(invoke: Invoke) -> None:
    """Two pointers, perhaps a number of bytes; the option is the size."""
    expect(invoke, 3 if len(invoke.args) == 3 else 2, 0, 1)
    expect_pointer(invoke, 0)
    expect_pointer(invoke, 1)
    expect_option(invoke, 0, *SIZES)
    if len(invoke.args) == 3:
        expect_scalar(invoke, 2, i32)


def copy_effects(invoke: Invoke) -> Effects:
    """Reads behind the source, writes behind the target."""
    return Effects(reads=invoke.args[1:2], writes=invoke.args[:1])


def copy_text(invoke: Invoke, spell: Spell) -> str:
    """16 bytes bypass the first cache, which holds no smaller copies back."""
    size = invoke.options[0]
    cache = "cg" if size == 16 else "ca"
    target, source, *taken = map(spell, invoke.args)
    operand = ", %2" if taken else ""
    count = f', "r"({taken[0]})' if taken else ""
    return (
        f'asm volatile("cp.async.{cache}.shared.global [%0], [%1], {size}{operand};" '
        f':: "r"(static_cast<unsigned>(__cvta_generic_to_shared({target}))), '
        f'"l"(__cvta_generic_to_global({source})){count} : "memory");'
    )


def copied(context: Context, invoke: Invoke) -> None:
    """Start the copy of each thread."""
    size = invoke.options[0]
    taken = np.full(len(context.mask), size, np.int64)
    if len(invoke.args) == 3:
        taken = context.value(invoke.args[2]).astype(np.int64)
    wrong = context.mask & ((taken < 0) | (taken > size))
    if wrong.any():
        row = int(np.argmax(wrong))
        context.fault(f"cp_async of {size} bytes takes {taken[row]} bytes", row)
    context.copy_async(invoke.args[0], invoke.args[1], size, taken)


def nothing_given(invoke: Invoke) -> None:
    """It takes nothing."""
    expect(invoke, 0)


def check_store(invoke: Invoke) -> None:
    """A pointer, and a number of what it points at."""
    expect(invoke, 2)
    expect_scalar(invoke, 1, expect_pointer(invoke, 0))


def check_wait(invoke: Invoke) -> None:
    """The option is how many groups may still be under way."""
    expect(invoke, 0, 0, 1)
    pending = invoke.options[0]
    if not isinstance(pending, int) or pending < 0:
        raise BadKernel(f"{invoke.name} waits for all but {pending!r} groups", place=invoke.place)


def check_barrier(invoke: Invoke) -> None:
    """The address of an mbarrier."""
    expect(invoke, 1)
    expect_pointer(invoke, 0, u64, i64)


def arriving(instruction: str) -> Callable[[Invoke, Spell], str]:
    """The text of an arrival by completed copies."""

    def text(invoke: Invoke, spell: Spell) -> str:
        address = shared_address(spell(invoke.args[0]))
        return f'asm volatile("{instruction} [%0];" :: {address} : "memory");'

    return text


ASYNC_COPIES = (
    Intrinsic(
        "cp_async",
        "Start a copy of 4, 8 or 16 bytes into shared memory. PTX ISA: cp.async.",
        check_copy,
        copy_effects,
        copy_text,
        copied,
    ),
    Intrinsic(
        "store_async",
        "Store a number, at once or by the time that the thread's copies so far are waited for: in "
        "a vector loop that moves elements it becomes copies. PTX ISA: cp.async, st.",
        check_store,
        lambda invoke: Effects(writes=invoke.args[:1]),
        lambda invoke, spell: f"*{spell(invoke.args[0])} = {spell(invoke.args[1])};",
        lambda context, invoke: context.write(
            invoke.args[0], context.value(invoke.args[1])[:, None]
        ),
    ),
    Intrinsic(
        "cp_async_commit_group",
        "The thread's copies since the last commit are one group. PTX ISA: cp.async.commit_group.",
        nothing_given,
        TOUCHES_NOTHING,
        lambda invoke, spell: 'asm volatile("cp.async.commit_group;" ::: "memory");',
        lambda context, invoke: context.commit_copies(),
    ),
    Intrinsic(
        "cp_async_wait_group",
        "Wait until at most that many groups are left. PTX ISA: cp.async.wait_group.",
        check_wait,
        TOUCHES_NOTHING,
        lambda invoke, spell: (
            f'asm volatile("cp.async.wait_group {invoke.options[0]};" ::: "memory");'
        ),
        lambda context, invoke: context.wait_copies(invoke.options[0]),
    ),
    Intrinsic(
        "cp_async_wait_all",
        "Wait for all of the thread's copies. PTX ISA: cp.async.wait_all.",
        nothing_given,
        TOUCHES_NOTHING,
        lambda invoke, spell: 'asm volatile("cp.async.wait_all;" ::: "memory");',
        lambda context, invoke: context.wait_copies(None),
    ),
    Intrinsic(
        "cp_async_mbarrier_arrive",
        "The thread's copies so far complete within the phase of an mbarrier, which expects one "
        "arrival more for them. PTX ISA: cp.async.mbarrier.arrive.",
        check_barrier,
        changes,
        arriving("cp.async.mbarrier.arrive.shared::cta.b64"),
        lambda context, invoke: context.copies_arrive(invoke.args[0], counts=False),
    ),
    Intrinsic(
        "cp_async_mbarrier_arrive_noinc",
        "The completion of the thread's copies so far is an arrival at an mbarrier. "
        "PTX ISA: cp.async.mbarrier.arrive.noinc.",
        check_barrier,
        changes,
        arriving("cp.async.mbarrier.arrive.noinc.shared::cta.b64"),
        lambda context, invoke: context.copies_arrive(invoke.args[0], counts=True),
    ),
)
