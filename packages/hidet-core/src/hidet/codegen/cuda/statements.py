"""Statements as CUDA C++."""

from __future__ import annotations

from functools import cached_property

from hidet.codegen.common.arrays import elements
from hidet.codegen.common.expressions import UNARY
from hidet.codegen.common.statements import StatementWriter, quoted
from hidet.codegen.cuda.expressions import CudaExpressions
from hidet.codegen.cuda.narrow import narrowed
from hidet.errors import InternalError
from hidet.intrinsics import INTRINSICS
from hidet.intrinsics.words import DYNAMIC_SHARED
from hidet.ir.expr import Address, Builtin, Expr, Load, Splat, Var, constant
from hidet.ir.stmt import Assign, Body, Declare, For, If, Invoke, LoopKind, Stmt, Store
from hidet.ir.walk import find
from hidet.types import Scope, TensorType, shared_alignment

STATIC_LIMIT = 48 * 1024
"""Static shared memory of a block, in bytes; more has to be dynamic."""
WORD = 4
"""Bytes of a register."""


class CudaStatements(StatementWriter):
    """Shared arrays, unrolling, traps and intrinsics of CUDA."""

    expressions: CudaExpressions

    def cheaper(self, e: Expr) -> Expr:
        return narrowed(e)

    def statements(self, body: Body) -> None:
        """Statements; narrow elements that are loaded or zero are one word until it is known."""
        skipped = False
        for s, after in zip(body, (*body[1:], None), strict=True):
            guarded = None if skipped else loaded_or_zero(s, after)
            if guarded is not None:
                self.load_or_zero(*guarded)
            elif not skipped:
                self.stmt(s)
            skipped = guarded is not None

    def load_or_zero(self, var: Var, condition: Expr, load: Load) -> None:
        """A vector that is loaded where a condition holds."""
        self.expressions.used.add("load_or_zero")
        address, there = self.ready([Address(load.tensor, load.index), condition])
        kind = f"{self.expressions.type(load.dtype)}, {load.lanes}"
        value = f"load_or_zero<{kind}>({self.spell(address)}, {self.spell(there)})"
        self.line(f"{self.declared(var)} = {value};")

    def declare_array(self, var: Var, of: TensorType, init: Expr | None) -> None:
        count = elements(var, of)
        name, kind = self.expressions.names[var], self.expressions.type(of.dtype)
        if of.scope is Scope.SHARED:
            self._declare_shared(var, of, count)
            if init is not None:
                raise InternalError(f"the shared array `{name}` cannot have a first value")
            return
        self.line(f"alignas(16) {kind} {name}[{count}];")
        if init is not None:
            (value,) = self.ready([init])
            self.line("#pragma unroll")
            self.line(f"for ({kind} &each : {name}) each = {self.spell(value)};")

    def _declare_shared(self, var: Var, of: TensorType, count: int) -> None:
        name, kind = self.expressions.names[var], self.expressions.type(of.dtype)
        size = count * of.dtype.nbytes
        if size == self.kernel.launch.shared_bytes and not self.asks_for_dynamic:
            self.expressions.used.add(DYNAMIC_SHARED)
            self.line(f"{kind} *{name} = reinterpret_cast<{kind} *>({DYNAMIC_SHARED});")
        elif size > STATIC_LIMIT:
            raise InternalError(
                f"the shared array `{name}` takes {size} bytes, more than a static one may",
                help="run passes.place_shared before code generation",
            )
        else:
            at = shared_alignment(size)
            self.line(f"__shared__ __align__({at}) {kind} {name}[{count}];")

    @cached_property
    def asks_for_dynamic(self) -> bool:
        """Whether the kernel uses its dynamic shared memory by itself, beside shared arrays."""
        return any(e.name == DYNAMIC_SHARED for e in find(self.kernel.body, Builtin))

    def loop_hint(self, loop: For) -> None:
        if loop.kind is LoopKind.PARALLEL:
            raise InternalError("a parallel loop has no meaning in a CUDA kernel")
        if loop.kind is not LoopKind.SERIAL:
            self.line("#pragma unroll")

    def store_wide(self, store: Store, value: Expr) -> None:
        self.expressions.used.add("store")
        place = self.spell(Address(store.tensor, store.index))
        self.line(f"store({place}, {self.spell(value)});")

    def fail(self, message: str) -> list[str]:
        return [f"printf({quoted(message.replace('%', '%%'))});", "__trap();"]

    def invoke(self, s: Invoke) -> None:
        intrinsic = INTRINSICS.get(s.name)
        if intrinsic is None:
            raise InternalError(f"there is no intrinsic {s.name!r}")
        args = tuple(self.ready(list(s.args)))
        ready = Invoke(s.name, args, s.results, s.options, s.place)
        # Tightly, as an intrinsic's text may put an operator beside an operand.
        spelled = intrinsic.cuda(ready, lambda e: self.expressions.spell(e, UNARY))
        for text in spelled.splitlines():
            self.line(text)


def loaded_or_zero(first: Stmt, then: Stmt | None) -> tuple[Var, Expr, Load] | None:
    """A vector of elements narrower than a word, in whole words, that is zero unless a condition
    holds, where two statements say so: the vector, the condition and what is loaded."""
    match first, then:
        case Declare(var, Splat(zero)), If(condition, (Assign(same, Load() as load),), ()):
            nbytes = load.dtype.nbytes * load.lanes
            words = load.dtype.nbytes < WORD and nbytes % WORD == 0 and nbytes & (nbytes - 1) == 0
            always = words and not any(True for _ in find(load.index, Load))  # not guarded
            if same is var and always and zero is constant(0, load.dtype):
                return var, condition, load
    return None
