"""Statements of a script other than assignments and `for` loops."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from hidet.errors import BadScript
from hidet.ir.expr import Const, Expr, Not
from hidet.ir.stmt import (
    Assert,
    Break,
    Continue,
    If,
    Return,
    Stmt,
    While,
)
from hidet.lang.assignments import Assignments
from hidet.lang.operators import construct
from hidet.lang.values import (
    constant_truth,
    truth,
)
from hidet.types import boolean


class Statements(Assignments):
    """Transcribes the statements of one function; each kind of tree has its method.

    Loops and calls of other script functions are in `hidet.lang.transcribe`.
    """

    def statements(self, nodes: Sequence[ast.stmt]) -> None:
        """Transcribe statements one after the other."""
        for node in nodes:
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        """Transcribe one statement; errors without a place get its."""
        with self.placed(node):
            method = getattr(self, "do_" + type(node).__name__, None)
            if method is None:
                raise BadScript(f"a script has no {construct(node)}")
            method(node)

    @contextmanager
    def block(self, node: ast.stmt, word: str) -> Iterator[list[Stmt]]:
        """A block of its own: names bound in it end with it."""
        what = f"the `{word}` of line {self.place(node).line}"
        with self.recorder.block() as body, self.scope.block(what):
            yield body

    # ---- control ---------------------------------------------------------------------------------

    def do_If(self, node: ast.If) -> None:
        condition = self.evaluate(node.test)
        decided = constant_truth(condition)
        if decided is not None:
            self.statements(node.body if decided else node.orelse)
            return
        with self.placed(node.test):
            test = truth(condition)
        self.make_variables([*node.body, *node.orelse])
        with self.block(node, "if") as then:
            self.statements(node.body)
        with self.block(node, "if") as otherwise:
            self.statements(node.orelse)
        self.recorder.emit(If(test, tuple(then), tuple(otherwise), self.place(node)))

    def do_While(self, node: ast.While) -> None:
        if node.orelse:
            raise BadScript("a script has no `else` of a loop", place=self.place(node.orelse[0]))
        self.make_variables(node.body)
        with self.block(node, "while") as body, self.loop("while", True, True):
            condition = self.evaluate(node.test)
            decided = constant_truth(condition)
            if decided is False:
                return
            test: Expr = Const(True, boolean) if decided else truth(condition)
            if body:  # the condition has statements of its own: run them in each iteration
                leave = (Break(self.place(node.test)),)
                self.recorder.emit(If(Not(test), leave, (), self.place(node.test)))
                test = Const(True, boolean)
            self.statements(node.body)
        self.recorder.emit(While(test, tuple(body), self.place(node)))

    @contextmanager
    def loop(self, what: str, breaks: bool, continues: bool) -> Iterator[None]:
        """The body of a loop: what it is, and whether `break` and `continue` work in it."""
        self.loops.append((what, breaks, continues))
        try:
            yield
        finally:
            self.loops.pop()

    def do_Break(self, node: ast.Break) -> None:
        if not self.loops or not self.loops[-1][1]:
            where = f"a loop over {self.loops[-1][0]}" if self.loops else "this place"
            raise BadScript(f"{where} has no `break`", help="use a plain range(...) loop")
        self.recorder.emit(Break(self.place(node)))

    def do_Continue(self, node: ast.Continue) -> None:
        if not self.loops or not self.loops[-1][2]:
            where = f"a loop over {self.loops[-1][0]}" if self.loops else "this place"
            raise BadScript(f"{where} has no `continue`", help="write an `if` around the rest")
        self.recorder.emit(Continue(self.place(node)))

    def do_Pass(self, node: ast.Pass) -> None:
        pass

    def do_Return(self, node: ast.Return) -> None:
        if not self.is_kernel:
            raise BadScript(
                "a function called by a script returns only at its end",
                help="keep the result in a variable and return it last",
            )
        if node.value is not None:
            raise BadScript(
                "a kernel returns nothing",
                place=self.place(node.value),
                help="write results to tensor parameters",
            )
        if any(what == "parallel" for what, _, _ in self.loops):
            raise BadScript("a loop over parallel has no `return`")
        self.recorder.emit(Return(self.place(node)))

    def do_Assert(self, node: ast.Assert) -> None:
        condition = self.evaluate(node.test)
        message = "" if node.msg is None else self.evaluate(node.msg)
        if not isinstance(message, str):
            raise BadScript("the message of an assert is a text known beforehand")
        decided = constant_truth(condition)
        text = message or f"assertion failed: {ast.unparse(node.test)}"
        if decided is False:
            raise BadScript(text, place=self.place(node.test))
        if decided is None:
            self.recorder.emit(Assert(truth(condition), text, self.place(node)))

    def do_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return  # a docstring
        if isinstance(node.value, ast.Constant) and node.value.value is Ellipsis:
            return
        self.alone = node.value
        self.evaluate(node.value)
        if not isinstance(node.value, ast.Call):
            raise BadScript(
                "the value of this statement is not used", help="assign it, or remove it"
            )
