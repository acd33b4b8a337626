"""The program being written: what the functions of the language add statements to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from hidet.errors import BadScript, Place
from hidet.ir.expr import Expr, Get, Load, Var
from hidet.ir.kernel import Kernel, TensorMap
from hidet.ir.node import Node, nodes_in
from hidet.ir.stmt import Assign, Declare, Stmt
from hidet.ir.walk import find, substitute
from hidet.types import TensorType, Type


@dataclass(frozen=True)
class TaskLoop:
    """A loop over a task mapping that is being transcribed: its tasks as local loop variables."""

    mapping: Any
    worker: Expr
    task: tuple[Any, ...]
    slot: tuple[Expr, ...]


class Recorder:
    """Statements in the order in which they were written, innermost block last."""

    def __init__(self) -> None:
        self.blocks: list[list[Stmt]] = [[]]
        self.place: Place | None = None
        self.name = ""
        """What the value under way will be called, if it is to be assigned."""
        self.attributes: dict[str, Any] = {}
        self.maps: list[TensorMap] = []
        """Tensor maps that the host makes for the kernel."""
        self.launched: dict[str, Kernel] = {}
        """The kernels that a host function launches, by name."""
        self.workspaces: list[Var] = []
        """Global tensors that live during the launches of a host function."""
        self.tasks: list[TaskLoop] = []
        self.spread: list[Any] = []
        """Mappings that have a distributed register tensor."""
        self.local: dict[Var, None] = {}
        """Variables that only the kernel has."""
        self.variables: set[Var] = set()
        """Numbers, vectors and pointers that may be assigned."""
        self.results: set[Var] = set()
        """Results of intrinsics that no name stands for yet."""
        self.known: dict[Var, Expr] = {}
        """What variables are that were given a value once, so far."""
        self.records: dict[int, Any] = {}
        """Records that have variables of their own, by identity."""
        self.fields: set[Var] = set()
        """Their variables, which whoever has the record may assign."""

    def emit(self, stmt: Stmt) -> None:
        """Add a statement to the innermost block."""
        self.blocks[-1].append(stmt)

    def declare(self, of: Type, init: Expr | None = None, name: str = "") -> Var:
        """A new variable of type `of`."""
        var = Var(name or self.name or "value", of)
        self.local[var] = None
        if not isinstance(of, TensorType):
            self.variables.add(var)
            if init is not None:
                self.known[var] = init
        self.emit(Declare(var, init, self.place))
        return var

    def stays(self, value: Any) -> bool:
        """Whether an expression has the same value wherever it is read: of loop variables, say."""
        if not isinstance(value, Expr) or reads(value):
            return False
        return not any(var in self.variables for var in find(value, Var))

    def assign(self, var: Var, value: Expr) -> None:
        """Give a variable another value."""
        self.known.pop(var, None)
        self.emit(Assign(var, value, self.place))

    def expanded(self, value: Any) -> Any:
        """`value` with variables that were given a value once replaced by it."""
        if isinstance(value, tuple | list):
            return tuple(map(self.expanded, value))
        while isinstance(value, Expr):
            after = substitute(value, self.known)
            if after is value:
                break
            value = after
        return value

    @contextmanager
    def block(self) -> Iterator[list[Stmt]]:
        """Collect statements apart from the enclosing block."""
        self.blocks.append([])
        try:
            yield self.blocks[-1]
        finally:
            self.blocks.pop()

    def pin(self, value: Any, position: int) -> Any:
        """`value` as it was at an earlier position of the block."""
        if not isinstance(value, Expr | tuple) or position == len(self.blocks[-1]):
            return value
        if isinstance(value, tuple):
            return tuple(self.pin(each, position) for each in value)
        if not reads(value) and not self.moved(value, position):
            return value
        var = Var("earlier", value.type)
        self.blocks[-1].insert(position, Declare(var, value, self.place))
        return var

    def moved(self, value: Expr, position: int) -> bool:
        """Whether a number of a record in `value` is assigned behind a position of the block."""
        mentioned = self.fields.intersection(find(value, Var)) if self.fields else ()
        later = find(self.blocks[-1][position:], Assign) if mentioned else ()
        return any(each.var in mentioned for each in later)


_current: ContextVar[Recorder | None] = ContextVar("hidet_script", default=None)


def current(what: str = "this") -> Recorder:
    """The program being written here; BadScript outside of a script."""
    recorder = _current.get()
    if recorder is None:
        raise BadScript(f"{what} is only possible inside of a @hidet.script function")
    return recorder


@contextmanager
def recording(recorder: Recorder) -> Iterator[Recorder]:
    """Make `recorder` the current one."""
    token = _current.set(recorder)
    try:
        yield recorder
    finally:
        _current.reset(token)


def reads(value: Any) -> bool:
    """Whether a value depends on what memory holds."""
    nodes: list[Node] = list(nodes_in(value))
    return any(True for _ in find(nodes, Load)) or any(True for _ in find(nodes, Get))
