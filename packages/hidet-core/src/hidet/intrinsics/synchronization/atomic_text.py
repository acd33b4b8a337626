"""Atomic updates as CUDA: a function of the language, an instruction, or a loop around one."""

from __future__ import annotations

from hidet.intrinsics.base import Spell
from hidet.intrinsics.words import WORDS, declared, location, returned, scope_of, statement
from hidet.ir.expr import Negate
from hidet.ir.stmt import Invoke
from hidet.types import (
    DType,
    Scope,
    VectorType,
    bf16,
    f16,
    f32,
    f64,
    i32,
    i64,
    u32,
    u64,
)

NATIVE: dict[str, tuple[str, tuple[DType, ...]]] = {
    "atomic_add": ("atomicAdd", (i32, u32, u64, f32, f64, f16, bf16)),
    "atomic_min": ("atomicMin", (i32, u32, i64, u64)),
    "atomic_max": ("atomicMax", (i32, u32, i64, u64)),
    "atomic_exchange": ("atomicExch", (i32, u32, u64, f32)),
    "atomic_cas": ("atomicCAS", (i32, u32, u64)),
    "atomic_inc": ("atomicInc", (u32,)),
    "atomic_dec": ("atomicDec", (u32,)),
    "atomic_and": ("atomicAnd", (i32, u32, u64)),
    "atomic_or": ("atomicOr", (i32, u32, u64)),
    "atomic_xor": ("atomicXor", (i32, u32, u64)),
}
"""Functions that CUDA C++ has, relaxed and for the whole device, and for which types."""
POINTED = {i64: "long long", u64: "unsigned long long"}
LOOPED = {
    "atomic_add": "{old} + {new}",
    "atomic_sub": "{old} - {new}",  # of what has no addition
    "atomic_min": "({old} != {old} || {old} < {new}) ? {old} : {new}",
    "atomic_max": "({old} != {old} || {old} > {new}) ? {old} : {new}",
    "atomic_exchange": "{new}",
    "atomic_and": "{old} & {new}",
    "atomic_or": "{old} | {new}",
    "atomic_xor": "{old} ^ {new}",
}
PTX_ADD = {
    i32: "s32", u32: "u32", i64: "u64", u64: "u64", f32: "f32", f64: "f64",
    f16: "noftz.f16", bf16: "noftz.bf16",
}  # fmt: skip
PTX_LIMIT = {i32: "s32", u32: "u32", i64: "s64", u64: "u64"}
PTX_SCOPES = {"block": "cta", "cluster": "cluster", "gpu": "gpu", "sys": "sys"}
PTX_VECTORS = {
    (f32, 2): "v2.f32", (f32, 4): "v4.f32",
    (f16, 2): "noftz.f16x2", (f16, 4): "noftz.v2.f16x2", (f16, 8): "noftz.v4.f16x2",
    (bf16, 2): "noftz.bf16x2", (bf16, 4): "noftz.v2.bf16x2", (bf16, 8): "noftz.v4.bf16x2",
}  # fmt: skip


def text(invoke: Invoke, spell: Spell) -> str:
    """The call as CUDA C++."""
    of = invoke.args[0].dtype
    if invoke.name == "atomic_sub" and of in PTX_ADD:
        pointer, value = invoke.args
        added = (pointer, Negate(value))
        return text(Invoke("atomic_add", added, invoke.results, invoke.options), spell)
    if isinstance(invoke.args[1].type, VectorType):
        return vector_text(invoke, spell, invoke.args[1].type)
    function, native = NATIVE.get(invoke.name, ("", ()))
    if not invoke.options and of in native:
        return function_text(invoke, spell, function)
    if invoke.name == "atomic_cas" or instruction(invoke.name, of):
        return instruction_text(invoke, spell)
    return loop_text(invoke, spell)


def function_text(invoke: Invoke, spell: Spell, function: str) -> str:
    """A call of the CUDA function, which knows by itself where the pointer points."""
    of = invoke.args[0].dtype
    pointer, *values = map(spell, invoke.args)
    cast = f"reinterpret_cast<{POINTED[of]}*>({pointer})" if of in POINTED else pointer
    result = f"{spell(invoke.results[0])} = " if invoke.results else ""
    return f"{result}{function}({cast}, {', '.join(values)});"


def instruction(name: str, of: DType) -> str:
    """The operation and type of the instruction; empty if there is none."""
    operation = name.removeprefix("atomic_")
    wide = of.bits in (32, 64)
    match operation:
        case "add" if of in PTX_ADD:
            return f"add.{PTX_ADD[of]}"
        case "min" | "max" if of in PTX_LIMIT:
            return f"{operation}.{PTX_LIMIT[of]}"
        case "exchange" if wide:
            return f"exch.b{of.bits}"
        case "cas":
            return f"cas.b{of.bits}"
        case "inc" | "dec":
            return f"{operation}.u32"
        case "and" | "or" | "xor" if wide:
            return f"{operation}.b{of.bits}"
    return ""


def ordering(invoke: Invoke) -> str:
    """The order and scope of the instruction."""
    order, scope = invoke.options or ("relaxed", "gpu")
    return f"{order}.{PTX_SCOPES[scope]}"


def instruction_text(invoke: Invoke, spell: Spell) -> str:
    """The instruction on the values' bits."""
    of = invoke.args[0].dtype
    words, nbytes = WORDS[of.nbytes], of.nbytes
    space, pointer = location(invoke.args[0], spell)
    values = [spell(value) for value in invoke.args[1:]]
    names = [f"hidet_in{n}" for n in range(len(values))]
    made = "".join(declared(words, n, v, nbytes) for n, v in zip(names, values, strict=True))
    places = ", ".join(f"%{2 + n}" for n in range(len(values)))
    name = f"atom.{ordering(invoke)}{space}.{instruction(invoke.name, of)}"
    call = statement(
        f"{name} %0, [%1], {places}",
        words.operands("hidet_old", "="),
        [pointer, *(words.operands(n) for n in names)],
    )
    old = declared(words, "hidet_old", None, nbytes)
    return f"{{ {made}{old}{call}{returned(invoke, spell, 'hidet_old', nbytes)}}}"


def loop_text(invoke: Invoke, spell: Spell) -> str:
    """Read, change, compare-and-swap, until nobody came between."""
    of = invoke.args[0].dtype
    words = WORDS[of.nbytes]
    pointer, value = (spell(arg) for arg in invoke.args)
    _, scope = invoke.options or ("relaxed", "gpu")
    before, after = fences(invoke)
    space, _ = location(invoke.args[0], spell)
    at = "static_cast<unsigned>(__cvta_generic_to_shared(hidet_at))"
    operand = f'"r"({at})' if space == ".shared" else '"l"(hidet_at)'
    space = space if space == ".shared" else ""
    swap = statement(
        f"atom.relaxed.{PTX_SCOPES[scope]}{space}.cas.b{of.bits} %0, [%1], %2, %3",
        f'"={words.constraint}"(hidet_bits)',
        [operand, *(f'"{words.constraint}"({each})' for each in ("hidet_seen", "hidet_wanted"))],
    )
    new = LOOPED[invoke.name].format(old="hidet_old", new="hidet_new")
    back = f"{spell(invoke.results[0])} = hidet_old; " if invoke.results else ""
    word = words.c_type
    return (
        f"{{ auto* hidet_at = {pointer}; auto hidet_old = *hidet_at; "
        f"decltype(hidet_old) hidet_new = {value}; "
        f"{word} hidet_bits, hidet_seen, hidet_wanted; "
        f"memcpy(&hidet_bits, &hidet_old, {of.nbytes}); "
        f"{before}"
        f"do {{ hidet_seen = hidet_bits; memcpy(&hidet_old, &hidet_seen, {of.nbytes}); "
        f"decltype(hidet_old) hidet_next = {new}; "
        f"memcpy(&hidet_wanted, &hidet_next, {of.nbytes}); {swap}}} "
        f"while (hidet_bits != hidet_seen); "
        f"{after}{back}}}"
    )


def fences(invoke: Invoke) -> tuple[str, str]:
    """Fences before and after relaxed updates that together have the call's order."""
    order, scope = invoke.options or ("relaxed", "gpu")
    fence = f'asm volatile("fence.acq_rel.{PTX_SCOPES[scope]};" ::: "memory"); '
    before = fence if order in ("release", "acq_rel") else ""
    return before, fence if order in ("acquire", "acq_rel") else ""


def vector_text(invoke: Invoke, spell: Spell, of: VectorType) -> str:
    """One addition of neighbours (sm_90); on older devices, and in shared memory, several."""
    element, lanes = of.element, of.lanes
    count = of.nbytes // 4
    words = WORDS[4]
    kind = PTX_VECTORS[element, lanes]
    result = f"{spell(invoke.results[0])} = hidet_old; " if invoke.results else ""
    each = (
        f"for (int hidet_n = 0; hidet_n < {lanes}; ++hidet_n) "
        "hidet_old.v[hidet_n] = atomicAdd(hidet_at + hidet_n, hidet_new.v[hidet_n]);"
    )
    each = each.join(fences(invoke))
    head = f"{{ auto* hidet_at = {spell(invoke.args[0])}; auto hidet_new = {spell(invoke.args[1])};"
    head += " auto hidet_old = hidet_new;"
    shared = scope_of(invoke.args[0]) is Scope.SHARED
    if shared and not invoke.options:
        return f"{head} {each} {result}}}"
    outputs = ", ".join(f'"=r"(hidet_word[{n}])' for n in range(count))
    inputs = [f'"r"(hidet_word[{n}])' for n in range(count)]
    places = [", ".join(f"%{n + first}" for n in range(count)) for first in (0, count + 1)]
    old, new = (f"{{{place}}}" if count > 1 else place for place in places)
    call = statement(
        f"atom.{ordering(invoke)}.global.add.{kind} {old}, [%{count}], {new}",
        outputs,
        ['"l"(__cvta_generic_to_global(hidet_at))', *inputs],
    )
    move = f"{words.c_type} hidet_word[{count}]; memcpy(hidet_word, &hidet_new, {of.nbytes}); "
    back = f"memcpy(&hidet_old, hidet_word, {of.nbytes}); " if result else ""
    new = move + call + back
    lines = (head, "#if __CUDA_ARCH__ >= 900", new, "#else", each, "#endif", result + "}")
    return "\n".join(lines)
