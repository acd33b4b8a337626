"""Loads and stores with more to say: how they are cached, how they order other accesses.

A load has operand (pointer) and one result, a scalar or a vector of up to 16 bytes, which says how
many elements move; a store has operands (pointer, value). PTX ISA: ld, ld.global.nc, st,
createpolicy; "Memory Consistency Model".
"""

from __future__ import annotations

from collections.abc import Callable

from hidet.errors import BadKernel, DtypeMismatch
from hidet.intrinsics.base import Effects, Intrinsic, Spell
from hidet.intrinsics.context import Array, Context
from hidet.intrinsics.expect import expect, expect_dtype, expect_option, expect_pointer
from hidet.intrinsics.words import WORDS, declared, location, returned, size_of, statement
from hidet.ir.stmt import Invoke
from hidet.types import Scope, Type, VectorType

LOAD_CACHES = ("", "ca", "cg", "cs", "lu", "cv")
STORE_CACHES = ("", "wb", "cg", "cs", "wt")
CONSTANT_CACHES = ("", "ca", "cg", "cs")
EVICT_L1 = ("", "evict_normal", "evict_unchanged", "evict_first", "evict_last", "no_allocate")
EVICT_L2 = ("", "evict_first", "evict_last", "evict_unchanged")
SCOPES = {"block": "cta", "cluster": "cluster", "gpu": "gpu", "sys": "sys"}


def moved(invoke: Invoke) -> Type:
    """The type of what a load or store moves."""
    return (invoke.results[0] if invoke.results else invoke.args[1]).type


def check_move(invoke: Invoke, options: int) -> None:
    """A pointer, and a value or a result of its element type, of 1 to 16 bytes."""
    loads = invoke.name.startswith("load")
    expect(invoke, 1 if loads else 2, 1 if loads else 0, options)
    of = expect_pointer(invoke, 0)
    expect_dtype(invoke, invoke.results[0] if loads else invoke.args[1], of)
    if size_of(moved(invoke)) not in WORDS:
        raise DtypeMismatch(
            f"{invoke.name} moves 1, 2, 4, 8 or 16 bytes, not {size_of(moved(invoke))}",
            place=invoke.place,
            help="take fewer elements at once",
        )


def check_load(invoke: Invoke) -> None:
    """Options: the cache operator, what L1 and L2 do with the line, whether nobody writes there."""
    check_move(invoke, 4)
    constant = expect_option(invoke, 3, False, True)
    check_hints(invoke, CONSTANT_CACHES if constant else LOAD_CACHES)


def check_store(invoke: Invoke) -> None:
    """Options: the cache operator, what L1 and L2 do with the line."""
    check_move(invoke, 3)
    check_hints(invoke, STORE_CACHES)


def check_hints(invoke: Invoke, caches: tuple[str, ...]) -> None:
    """A cache operator, or what to evict; not both."""
    cache = expect_option(invoke, 0, *caches)
    hints = expect_option(invoke, 1, *EVICT_L1), expect_option(invoke, 2, *EVICT_L2)
    if cache and any(hints):
        raise BadKernel(
            f"{invoke.name} has a cache operator or says what to evict, not both",
            place=invoke.place,
        )


def check_ordered(invoke: Invoke) -> None:
    """Option: for which threads the access is ordered."""
    check_move(invoke, 1)
    expect_option(invoke, 0, *SCOPES)


def effects(invoke: Invoke) -> Effects:
    """Reads or writes behind its pointer; acquire and release order other accesses too."""
    orders = invoke.name.endswith(("acquire", "release"))
    pointer = invoke.args[:1]
    if invoke.results:
        return Effects(reads=pointer, barrier=orders)
    return Effects(writes=pointer, barrier=orders)


# ---- text ----------------------------------------------------------------------------------------


def cached_text(invoke: Invoke, spell: Spell) -> str:
    """The access to global memory with its hints."""
    cache, level1, level2, *constant = invoke.options
    hints = f".{cache}" if cache else ""
    hints += ".nc" if any(constant) else ""
    hints += f".L1::{level1}" if level1 else ""
    policy = ""
    if level2:
        hints += ".L2::cache_hint"
        policy = (
            "unsigned long long hidet_policy; "
            f'asm("createpolicy.fractional.L2::{level2}.b64 %0, 1.0;" : "=l"(hidet_policy)); '
        )
    return move_text(invoke, spell, hints, Scope.GLOBAL, policy)


def ordered_text(invoke: Invoke, spell: Spell) -> str:
    """The access with its order; a volatile one names no scope."""
    order = invoke.name.partition("_")[2]
    hints = ".volatile" if order == "volatile" else f".{order}.{SCOPES[invoke.options[0]]}"
    return move_text(invoke, spell, hints, None, "")


def move_text(invoke: Invoke, spell: Spell, hints: str, space: Scope | None, policy: str) -> str:
    """One load or store of the value's bits."""
    nbytes = size_of(moved(invoke))
    words = WORDS[nbytes]
    where, pointer = location(invoke.args[0], spell, space)
    first = hints.startswith((".volatile", ".relaxed", ".acquire", ".release"))
    name = f"{hints}{where}.{words.ptx}" if first else f"{where}{hints}.{words.ptx}"
    hint = ['"l"(hidet_policy)'] if policy else []
    if invoke.results:
        count = words.count
        policy_at = f", %{count + 1}" if policy else ""
        call = statement(
            f"ld{name} {words.places(0)}, [%{count}]{policy_at}",
            words.operands("hidet_word", "="),
            [pointer, *hint],
        )
        made = declared(words, "hidet_word", None, nbytes)
        return f"{{ {policy}{made}{call}{returned(invoke, spell, 'hidet_word', nbytes)}}}"
    policy_at = f", %{words.count + 1}" if policy else ""
    call = statement(
        f"st{name} [%0], {words.places(1)}{policy_at}",
        "",
        [pointer, words.operands("hidet_word"), *hint],
    )
    made = declared(words, "hidet_word", spell(invoke.args[1]), nbytes)
    return f"{{ {policy}{made}{call}}}"


# ---- meaning -------------------------------------------------------------------------------------


def lanes_of(invoke: Invoke) -> int:
    """How many elements move."""
    of = moved(invoke)
    return of.lanes if isinstance(of, VectorType) else 1


def given(invoke: Invoke, found: Array) -> Array:
    """What a load found, as its result takes it: rows of lanes only for a vector."""
    return found if isinstance(moved(invoke), VectorType) else found[:, 0]


def stored(context: Context, invoke: Invoke) -> Array:
    """What a store writes, a row of lanes for each thread."""
    found = context.value(invoke.args[1])
    return found if found.ndim > 1 else found[:, None]


def expect_global(context: Context, invoke: Invoke) -> None:
    """Fault unless the pointer points into global memory."""
    found = context.scope(invoke.args[0])
    if found is not Scope.GLOBAL:
        context.fault(f"{invoke.name} is of global memory; the pointer is to {found} memory")


def loaded(context: Context, invoke: Invoke) -> None:
    """A plain load; what is read as constant may not have been written by the kernel."""
    expect_global(context, invoke)
    found = context.read(invoke.args[0], lanes_of(invoke))
    if invoke.options[3]:
        context.unwritten(invoke.args[0], lanes_of(invoke))
    context.assign(invoke.results[0], given(invoke, found))


def written(context: Context, invoke: Invoke) -> None:
    """A plain store."""
    expect_global(context, invoke)
    context.write(invoke.args[0], stored(context, invoke))


def loaded_in_order(context: Context, invoke: Invoke) -> None:
    """A load that races with no atomic access; an acquire is a fence after it."""
    found = context.read_atomic(invoke.args[0], lanes_of(invoke))
    if invoke.name == "load_acquire":
        context.fence(invoke.options[0])
    context.assign(invoke.results[0], given(invoke, found))


def written_in_order(context: Context, invoke: Invoke) -> None:
    """A store that races with no atomic access; a release is a fence before it."""
    if invoke.name == "store_release":
        context.fence(invoke.options[0])
    context.write_atomic(invoke.args[0], stored(context, invoke))


def ordered(name: str, doc: str) -> Intrinsic:
    """One of the accesses that order others, or are ordered."""
    loads = name.startswith("load")
    meaning: Callable[[Context, Invoke], None] = loaded_in_order if loads else written_in_order
    doc += f' Option: the scope. PTX ISA: {"ld" if loads else "st"}, "Memory Consistency Model".'
    return Intrinsic(name, doc, check_ordered, effects, ordered_text, meaning)


MEMORY = (
    Intrinsic(
        "load_global",
        "Load from global memory; options (cache operator, L1 eviction, L2 eviction, whether the "
        "memory is constant during the kernel). PTX ISA: ld, ld.global.nc.",
        check_load,
        effects,
        cached_text,
        loaded,
    ),
    Intrinsic(
        "store_global",
        "Store to global memory; options (cache operator, L1 eviction, L2 eviction). PTX ISA: st.",
        check_store,
        effects,
        cached_text,
        written,
    ),
    ordered("load_relaxed", "Load what other threads may write at the same time."),
    ordered("load_acquire", "Load, and see what was written before the release that it reads."),
    ordered("load_volatile", "Load anew each time, relaxed and for the whole system."),
    ordered("store_relaxed", "Store what other threads may read at the same time."),
    ordered("store_release", "Store after all earlier accesses of the thread."),
    ordered("store_volatile", "Store each time, relaxed and for the whole system."),
)
