"""Statements as C++; loops of vector lanes have OpenMP's hint."""

from __future__ import annotations

from collections.abc import Mapping

from hidet.codegen.common.arrays import elements
from hidet.codegen.common.sharing import share
from hidet.codegen.common.statements import StatementWriter, quoted
from hidet.codegen.cpu.expressions import CpuExpressions, is_native
from hidet.codegen.cpu.parallel import write_parallel
from hidet.errors import InternalError
from hidet.intrinsics import INTRINSICS
from hidet.ir.expr import Address, Const, Expr, Load, Var
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import (
    Assign,
    Break,
    Continue,
    Declare,
    For,
    Invoke,
    LoopKind,
    Print,
    Return,
    Store,
    While,
)
from hidet.ir.walk import find, postorder
from hidet.types import TensorType

STACK_LIMIT = 64 * 1024
"""Bytes of a local array; more does not belong on the stack of a worker thread."""


class CpuStatements(StatementWriter):
    """Local arrays, loops over threads and vector lanes."""

    expressions: CpuExpressions
    printf = "__builtin_printf"

    def __init__(
        self, kernel: Kernel, expressions: CpuExpressions, heads: Mapping[Var, str]
    ) -> None:
        super().__init__(kernel, expressions)
        self.heads = heads
        """The kernel's parameters as they are declared."""
        self.in_team = False
        """Whether what is written is within a loop that the team runs."""

    def declare_array(self, var: Var, of: TensorType, init: Expr | None) -> None:
        count = elements(var, of)
        name, kind = self.expressions.names[var], self.expressions.type(of.dtype)
        if count * of.dtype.nbytes > STACK_LIMIT:
            raise InternalError(
                f"the local array `{name}` takes {count * of.dtype.nbytes} bytes, more than "
                f"{STACK_LIMIT}",
                help="make it a workspace of the module",
            )
        self.line(f"alignas(64) {kind} {name}[{count}];")
        if init is not None:
            (value,) = self.ready([init])
            self.line(f"for ({kind} &each : {name}) each = {self.spell(value)};")

    def loop(self, s: For) -> None:
        if s.kind is not LoopKind.PARALLEL or self.in_team:
            super().loop(s)
            return
        self.in_team = True
        write_parallel(self, self.nest(s), self.heads)
        self.in_team = False

    def loop_hint(self, loop: For) -> None:
        if loop.kind is LoopKind.VECTOR and independent(loop):
            self.line("#pragma omp simd")
        elif loop.kind is LoopKind.UNROLL and isinstance(loop.extent, Const):
            self.line(f"#pragma GCC unroll {max(1, int(loop.extent.value))}")

    def nest(self, loop: For) -> tuple[For, ...]:
        """The parallel loops that directly hold one another and do not depend on each other."""
        found = [loop]
        while len(found[-1].body) == 1:
            (inner,) = found[-1].body
            if not isinstance(inner, For) or inner.kind is not LoopKind.PARALLEL:
                break
            moving = {each.var for each in found} | self.assigned
            nodes = list(postorder(inner.extent))
            if any(n in moving or isinstance(n, Load) for n in nodes) or share([inner.extent])[0]:
                break
            found.append(inner)
        return tuple(found)

    def store_wide(self, store: Store, value: Expr) -> None:
        place = self.spell(Address(store.tensor, store.index))
        if is_native(value.type):
            kind = self.expressions.type(value.type)
            self.line(f"*reinterpret_cast<{kind}_at *>({place}) = {self.spell(value)};")
        else:
            self.expressions.used.add("store")
            self.line(f"store({place}, {self.spell(value)});")

    def fail(self, message: str) -> list[str]:
        self.expressions.used.add("fail")
        return [f"fail({quoted(message)});"]

    def invoke(self, s: Invoke) -> None:
        intrinsic = INTRINSICS.get(s.name)
        if intrinsic is None or intrinsic.cpu is None:
            raise InternalError(f"the intrinsic {s.name!r} has no meaning in a CPU kernel")
        args = tuple(self.ready(list(s.args)))
        ready = Invoke(s.name, args, s.results, s.options, s.place)
        self.line(intrinsic.cpu(ready, self.spell))


def independent(loop: For) -> bool:
    """Whether the iterations may run in vector lanes: one loop, its own variables, no way out."""
    own = {s.var for s in find(loop.body, Declare)}
    if any(s.var not in own for s in find(loop.body, Assign)):
        return False
    barred = (For, While, Break, Continue, Return, Print)
    return not any(isinstance(n, barred) for n in postorder(loop.body))
