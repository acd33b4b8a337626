"""Values as the registers of inline PTX: 16, 32 or 64 bits each, whatever the values mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hidet.errors import BadKernel
from hidet.intrinsics.base import Spell
from hidet.ir.expr import Address, Builtin, Expr, Reinterpret
from hidet.ir.stmt import Invoke
from hidet.types import DType, Scope, TensorType, Type, VectorType

DYNAMIC_SHARED = "dynamic_shared"
"""The builtin that points to the block's dynamic shared memory."""


@dataclass(frozen=True)
class Words:
    """`count` registers of a C type, under an asm constraint; `ptx` ends the instruction's name."""

    c_type: str
    constraint: str
    count: int
    ptx: str

    def names(self, name: str) -> list[str]:
        """The registers of variable `name`."""
        return [f"{name}[{n}]" for n in range(self.count)]

    def operands(self, name: str, prefix: str = "") -> str:
        """The registers of variable `name` as operands of an asm statement."""
        return ", ".join(f'"{prefix}{self.constraint}"({each})' for each in self.names(name))

    def places(self, first: int) -> str:
        """How the instruction names them, if the first is operand number `first`."""
        found = ", ".join(f"%{first + n}" for n in range(self.count))
        return f"{{{found}}}" if self.count > 1 else found


WORDS = {
    1: Words("unsigned", "r", 1, "u8"),
    2: Words("unsigned short", "h", 1, "b16"),
    4: Words("unsigned", "r", 1, "b32"),
    8: Words("unsigned long long", "l", 1, "b64"),
    16: Words("unsigned long long", "l", 2, "v2.b64"),
}
"""How an access of so many bytes is spelled."""


def size_of(of: Type) -> int:
    """The bytes of a scalar or vector."""
    if isinstance(of, DType | VectorType):
        return of.nbytes
    raise BadKernel(f"a value of type {of} is not moved in registers")


def declared(words: Words, name: str, value: str | None, nbytes: int) -> str:
    """C that makes the registers `name`, of a value if there is one."""
    first = f"{words.c_type} {name}[{words.count}]"
    if value is None:
        return f"{first}; "
    return f"{first} = {{}}; auto {name}_value = {value}; memcpy({name}, &{name}_value, {nbytes}); "


def returned(invoke: Invoke, spell: Spell, name: str, nbytes: int) -> str:
    """C that gives the call's result, if it has one, the bits in the registers `name`."""
    if not invoke.results:
        return ""
    return f"memcpy(&{spell(invoke.results[0])}, {name}, {nbytes}); "


def scope_of(pointer: Expr) -> Scope | None:
    """Where a pointer surely points; None if its type does not tell."""
    while isinstance(pointer, Address | Reinterpret):
        pointer = pointer.tensor if isinstance(pointer, Address) else pointer.value
    if isinstance(pointer, Builtin) and pointer.name == DYNAMIC_SHARED:
        return Scope.SHARED
    return pointer.type.scope if isinstance(pointer.type, TensorType) else None


def location(pointer: Expr, spell: Spell, space: Scope | None = None) -> tuple[str, str]:
    """The state space of an instruction on `pointer`, and the pointer as operand of an asm.

    `space` is where it must point; without one, generic addresses serve where nothing is known.
    """
    text = spell(pointer)
    found = space or scope_of(pointer)
    if found is Scope.SHARED:
        return ".shared", f'"r"(static_cast<unsigned>(__cvta_generic_to_shared({text})))'
    if found is Scope.GLOBAL:
        return ".global", f'"l"(__cvta_generic_to_global({text}))'
    return "", f'"l"({text})'


def statement(instruction: str, outputs: str, inputs: Sequence[str]) -> str:
    """An asm statement that is neither moved nor dropped, and orders the compiler's accesses."""
    return f'asm volatile("{instruction};" : {outputs} : {", ".join(inputs)} : "memory"); '
