"""Statements as C++: what both languages write alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from hidet.codegen.common.expressions import SHIFT, ExpressionWriter
from hidet.codegen.common.lanes import spread
from hidet.codegen.common.sharing import share
from hidet.errors import InternalError, at
from hidet.ir.expr import Expr, Load, Var
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import (
    Assert,
    Assign,
    Body,
    Break,
    Continue,
    Declare,
    For,
    If,
    Invoke,
    Print,
    Return,
    Stmt,
    Store,
    While,
)
from hidet.ir.walk import find, postorder
from hidet.types import DType, TensorType, VectorType, f64


class StatementWriter(ABC):
    """Writes the body of one kernel, line by line."""

    def __init__(self, kernel: Kernel, expressions: ExpressionWriter) -> None:
        self.kernel = kernel
        self.expressions = expressions
        self.lines: list[str] = []
        self.depth = 1
        self.assigned = assigned(kernel.body)

    # ---- what a language decides ---------------------------------------------------------------

    @abstractmethod
    def declare_array(self, var: Var, of: TensorType, init: Expr | None) -> None:
        """A shared or register array."""

    @abstractmethod
    def loop_hint(self, loop: For) -> None:
        """What stands before a loop to say how its iterations are run."""

    @abstractmethod
    def store_wide(self, store: Store, value: Expr) -> None:
        """Write consecutive elements."""

    @abstractmethod
    def fail(self, message: str) -> list[str]:
        """Lines that stop the program with a message."""

    @abstractmethod
    def invoke(self, s: Invoke) -> None:
        """Call an intrinsic."""

    def cheaper(self, e: Expr) -> Expr:
        """What may be computed in place of `e`, where the language has something cheaper."""
        return e

    # ---- writing -------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """One line at the current depth; directives stand there too."""
        self.lines.append("  " * self.depth + text)

    def spell(self, e: Expr) -> str:
        """An expression that is ready to be spelled."""
        return self.expressions.spell(e)

    def ready(self, exprs: Sequence[Expr]) -> list[Expr]:
        """Expressions without vector operations the language lacks; shared values get names."""
        plain = [self.cheaper(spread(e, self.expressions.native)) for e in exprs]
        bindings, named = share(plain)
        for var, value in bindings:
            if self.expressions.signs.nonnegative(value):
                self.expressions.signs.learn(var)
            self.line(f"const {self.declared(var)} = {self.spell(value)};")
        return named

    def declared(self, var: Var) -> str:
        """A type and a name."""
        kind = self.expressions.type(var.of)
        return f"{kind}{'' if kind.endswith('*') else ' '}{self.expressions.names[var]}"

    def body(self, body: Body) -> None:
        """Statements one step further in."""
        self.depth += 1
        self.statements(body)
        self.depth -= 1

    def statements(self, body: Body) -> None:
        """Statements, one after the other."""
        for s in body:
            self.stmt(s)

    def stmt(self, s: Stmt) -> None:
        """Any statement."""
        with at(getattr(s, "place", None)):
            match s:
                case For():
                    self.loop(s)
                case While(condition, body):
                    self.repeat(condition, body)
                case If():
                    self.branch(s)
                case _:
                    self.simple(s)

    def simple(self, s: Stmt) -> None:
        """A statement without a body."""
        match s:
            case Declare():
                self.declare(s)
            case Assign(var, value):
                (value,) = self.ready([value])
                self.line(f"{self.expressions.names[var]} = {self.spell(value)};")
            case Store():
                self.store(s)
            case Invoke():
                self.invoke(s)
            case Assert():
                self.check(s)
            case Print():
                self.print(s)
            case Break() | Continue() | Return():
                self.line(f"{type(s).__name__.lower()};")
            case _:
                raise InternalError(f"{type(s).__name__} has no place in a lowered kernel")

    def declare(self, s: Declare) -> None:
        """A variable, with its first value if it has one."""
        if isinstance(s.var.of, TensorType):
            self.declare_array(s.var, s.var.of, s.init)
        elif s.init is None:
            self.line(f"{self.declared(s.var)};")
        else:
            (init,) = self.ready([s.init])
            fixed = s.var not in self.assigned and isinstance(s.var.of, DType)
            if fixed and self.expressions.signs.nonnegative(init):
                self.expressions.signs.learn(s.var)
            self.line(f"{self.declared(s.var)} = {self.spell(init)};")

    def store(self, s: Store) -> None:
        """Write one or several elements."""
        tensor, *index, value = self.ready([s.tensor, *s.index, s.value])
        target = Store(tensor, tuple(index), value, s.place)
        if isinstance(value.type, VectorType):
            self.store_wide(target, value)
        else:
            element = self.expressions.element(tensor, tuple(index))
            self.line(f"{element} = {self.spell(value)};")

    def loop(self, s: For) -> None:
        """A counted loop; its extent is computed once unless it cannot change."""
        extent = self.bound(s)
        names, signs = self.expressions.names, self.expressions.signs
        signs.learn(s.var)
        self.loop_hint(s)
        kind, name = self.expressions.type(s.var.of), names[s.var]
        self.line(f"for ({kind} {name} = 0; {name} < {extent}; ++{name}) {{")
        self.body(s.body)
        self.line("}")

    def bound(self, s: For) -> str:
        """The text of a loop's extent."""
        (extent,) = self.ready([s.extent])
        if not any(n in self.assigned or isinstance(n, Load) for n in postorder(extent)):
            return self.expressions.spell(extent, SHIFT)
        name = self.expressions.names.fresh("extent")
        self.line(f"const {self.expressions.type(extent.type)} {name} = {self.spell(extent)};")
        return name

    def repeat(self, condition: Expr, body: Body) -> None:
        """A loop on a condition; names that the condition needs are made anew at each iteration."""
        start, mark = len(self.lines), self.depth
        self.line("while (true) {")
        self.depth += 1
        (test,) = self.ready([condition])
        self.depth = mark
        if len(self.lines) == start + 1:
            self.lines[start:] = [f"{'  ' * mark}while ({self.spell(test)}) {{"]
        else:
            self.line(f"  if (!({self.spell(test)})) break;")
        self.body(body)
        self.line("}")

    def branch(self, s: If) -> None:
        """A choice."""
        (condition,) = self.ready([s.condition])
        self.line(f"if ({self.spell(condition)}) {{")
        self.body(s.then)
        if s.otherwise:
            self.line("} else {")
            self.body(s.otherwise)
        self.line("}")

    def check(self, s: Assert) -> None:
        """Stop where a condition does not hold."""
        (condition,) = self.ready([s.condition])
        self.line(f"if (!({self.spell(condition)})) {{")
        for text in self.fail(s.message + "\n"):
            self.line("  " + text)
        self.line("}")

    def print(self, s: Print) -> None:
        """Print by a format; small floats are widened, as C's variable arguments want."""
        args = self.ready([arg.cast(f64) if arg.dtype.is_float else arg for arg in s.args])
        self.line(f"{self.printf}({', '.join([quoted(s.format), *map(self.spell, args)])});")

    printf = "printf"


def assigned(body: Body) -> set[Var]:
    """The variables that change after their declaration."""
    found = {s.var for s in find(body, Assign)}
    for s in find(body, Invoke):
        found.update(s.results)
    return found


def quoted(text: str) -> str:
    """A C string literal, in ASCII whatever the text holds."""
    out = []
    for byte in text.encode():
        char = chr(byte)
        plain = 32 <= byte < 127 and char not in '"\\?'
        out.append(char if plain else {"\n": "\\n", "\t": "\\t"}.get(char, f"\\{byte:03o}"))
    return f'"{"".join(out)}"'
