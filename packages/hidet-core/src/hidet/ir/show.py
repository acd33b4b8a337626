"""The text form of programs, for people: `str()` of any node."""

from __future__ import annotations

from collections.abc import Iterable

from hidet.ir.expr import (
    Address,
    Binary,
    Builtin,
    Cast,
    Const,
    Dot,
    Expr,
    FromAccumulators,
    Get,
    Lane,
    Load,
    Math,
    Maximum,
    Minimum,
    Pack,
    Reinterpret,
    Select,
    Splat,
    Unary,
    Var,
)
from hidet.ir.kernel import Call, Kernel, Launch, Module, PdlTrigger, TensorMap
from hidet.ir.node import Node
from hidet.ir.stmt import (
    Assert,
    Assign,
    Break,
    Continue,
    Declare,
    For,
    ForTasks,
    If,
    Invoke,
    LoopKind,
    Print,
    Put,
    Return,
    Stmt,
    Store,
    While,
)
from hidet.ir.walk import variables
from hidet.types import TensorType, f32, i32


def show(node: Node) -> str:
    """`node` as text; variables that share a name are told apart by a number."""
    return Printer(node).text(node)


class Printer:
    """Prints one program; names are chosen once for all of it, but for what is below `apart`."""

    def __init__(self, root: Node | Iterable[Node], apart: Iterable[Node] = ()) -> None:
        self.names: dict[Var, str] = {}
        taken: dict[str, int] = {}
        for var in variables(root, apart):
            count = taken.get(var.name, 0)
            taken[var.name] = count + 1
            self.names[var] = var.name if count == 0 else f"{var.name}_{count}"

    def text(self, node: Node) -> str:
        """Any node."""
        match node:
            case Expr():
                return self.expr(node)
            case Stmt():
                return "\n".join(self.stmt(node, ""))
            case Kernel():
                return self.kernel(node)
            case Module(name, params, kernels, body, workspaces):
                head = f"module {name}({self.parameters(params)}):"
                spaces = [f"  workspace {self.declared(w)}" for w in workspaces]
                launches = self.body(body, "")
                bodies = [self.kernel(kernel) for kernel in kernels]
                return "\n".join([head, *spaces, *launches, *bodies])
            case Launch():
                return self.launch(node)
            case TensorMap():
                return self.map(node)
        own = type(node).__dict__.get("show")
        return own(node) if own else object.__repr__(node)

    def exprs(self, items: Iterable[Expr]) -> str:
        """A list of expressions."""
        return ", ".join(self.expr(item) for item in items)

    def expr(self, e: Expr) -> str:
        """An expression."""
        match e:
            case Var(name):
                return self.names.get(e, name)
            case Const(value, of):
                return number(value, of.short, of in (i32, f32) or of.is_bool)
            case Builtin(name):
                return name
            case Minimum(a, b) | Maximum(a, b):
                return f"{e.symbol}({self.expr(a)}, {self.expr(b)})"
            case Binary(a, b):
                return f"({self.expr(a)} {e.symbol} {self.expr(b)})"
            case Unary(a):
                return f"({e.symbol}{self.expr(a)})"
            case Cast(value, to):
                return f"{to}({self.expr(value)})"
            case Reinterpret(value, to):
                return f"bits({self.expr(value)}, {to})"
            case Select(condition, then, otherwise):
                return f"({self.expr(then)} if {self.expr(condition)} else {self.expr(otherwise)})"
            case Math(name, args):
                return f"{name}({self.exprs(args)})"
        return self.access(e)

    def access(self, e: Expr) -> str:
        """An expression that touches memory or the lanes of a vector."""
        match e:
            case Load(tensor, index, lanes):
                wide = "" if lanes == 1 else f":{lanes}"
                return f"{self.expr(tensor)}[{self.exprs(index)}{wide}]"
            case Get(tensor, index):
                return f"{self.expr(tensor)}.get({self.exprs(index)})"
            case FromAccumulators(tensor, index, sums):
                return f"{self.expr(tensor)}.from_accumulators({self.exprs((*index, *sums))})"
            case Address(tensor, index):
                return f"&{self.expr(tensor)}[{self.exprs(index)}]"
            case Pack(lanes):
                return f"<{self.exprs(lanes)}>"
            case Splat(value, lanes):
                return f"<{self.expr(value)} x {lanes}>"
            case Dot(total, a, b):
                return f"dot({self.exprs((total, a, b))})"
            case Lane(vector, lane):
                return f"{self.expr(vector)}.{lane}"
        own = getattr(type(e), "show", None)
        return own(e, self) if own else object.__repr__(e)

    def declared(self, var: Var) -> str:
        """A variable with its type."""
        of = var.of
        if isinstance(of, TensorType):
            sizes = ", ".join(self.expr(s) if isinstance(s, Expr) else str(s) for s in of.shape)
            scope = "" if of.scope == "global" else f" {of.scope}"
            layout = "" if of.layout is None else f" @ {of.layout}"
            return f"{self.expr(var)}: {of.dtype}[{sizes}]{scope}{layout}"
        return f"{self.expr(var)}: {of}"

    def parameters(self, params: Iterable[Var]) -> str:
        """Parameters with their types."""
        return ", ".join(self.declared(p) for p in params)

    def body(self, body: Iterable[Stmt], pad: str) -> list[str]:
        """Statements one step further in; `pass` if there is none."""
        inner = pad + "  "
        return [line for s in body for line in self.stmt(s, inner)] or [inner + "pass"]

    def stmt(self, s: Stmt, pad: str) -> list[str]:
        """A statement, as lines."""
        match s:
            case For(var, extent, body, kind):
                note = "" if kind is LoopKind.SERIAL else f"  # {kind}"
                head = f"{pad}for {self.expr(var)} in {self.expr(extent)}:{note}"
                return [head, *self.body(body, pad)]
            case ForTasks(names, mapping, worker, body):
                head = f"{pad}for {self.exprs(names)} in {mapping} on {self.expr(worker)}:"
                return [head, *self.body(body, pad)]
            case While(condition, body):
                return [f"{pad}while {self.expr(condition)}:", *self.body(body, pad)]
            case If(condition, then, otherwise):
                lines = [f"{pad}if {self.expr(condition)}:", *self.body(then, pad)]
                return lines + ([f"{pad}else:", *self.body(otherwise, pad)] if otherwise else [])
        return [pad + self.simple(s)]

    def simple(self, s: Stmt) -> str:
        """A statement of one line."""
        match s:
            case Declare(var, init):
                return self.declared(var) + ("" if init is None else f" = {self.expr(init)}")
            case Assign(var, value):
                return f"{self.expr(var)} = {self.expr(value)}"
            case Store(tensor, index, value):
                return f"{self.expr(tensor)}[{self.exprs(index)}] = {self.expr(value)}"
            case Put(tensor, index, value):
                return f"{self.expr(tensor)}.put({self.exprs(index)}, {self.expr(value)})"
            case Invoke(name, args, results, options):
                given = f"{self.exprs(results)} = " if results else ""
                chosen = f" {options}" if options else ""
                return f"{given}{name}({self.exprs(args)}){chosen}"
            case Assert(condition, message):
                return f"assert {self.expr(condition)}, {message!r}"
            case Print(format, args):
                return f"print({', '.join([repr(format), *map(self.expr, args)])})"
            case Call(kernel, args):
                return f"launch {kernel}({self.exprs(args)})"
            case Break() | Continue() | Return():
                return type(s).__name__.lower()
        return object.__repr__(s)

    def launch(self, launch: Launch) -> str:
        """A launch configuration."""
        parts = [f"grid ({self.exprs(launch.grid)})", f"block ({self.exprs(launch.block)})"]
        if launch.cluster != (1, 1, 1):
            parts.append(f"cluster {launch.cluster}")
        if launch.shared_bytes:
            parts.append(f"shared {launch.shared_bytes} bytes")
        if launch.min_blocks:
            parts.append(f"at least {launch.min_blocks} blocks")
        if launch.max_blocks:
            parts.append(f"at most {launch.max_blocks} blocks")
        if launch.pdl_trigger is not PdlTrigger.READ:
            parts.append(f"lets the next begin at its {launch.pdl_trigger}")
        return ", ".join(parts)

    def kernel(self, kernel: Kernel) -> str:
        """A kernel with its launch configuration."""
        head = f"{kernel.kind} kernel {kernel.name}({self.parameters(kernel.params)}):"
        launch = [] if kernel.kind == "cpu" else [f"  # {self.launch(kernel.launch)}"]
        maps = [f"  {self.map(each)}" for each in kernel.maps]
        hints = zip(kernel.hints, ("once", "lasting", "early", "ahead"), strict=True)
        loads = [f"  # {self.exprs(some)} loaded {how}" for some, how in hints if some]
        return "\n".join([head, *launch, *loads, *maps, *self.body(kernel.body, "")])

    def map(self, map: TensorMap) -> str:
        """A tensor map, beside what it is made of."""
        sizes, strides = self.exprs(map.shape), self.exprs(map.strides)
        apart = f" strides ({strides})" if strides else ""
        return f"{self.declared(map.var)} = {self.expr(map.tensor)} shape ({sizes}){apart}"


def number(value: float | int | bool, short: str, plain: bool) -> str:
    """A constant; the type is shown unless it is the usual one."""
    return repr(value) if plain else f"{value!r}:{short}"


Node.printer = show
