"""Common subexpressions that would be repeated many times are bound to variables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from hidet.ir.expr import And, Expr, Get, Not, Select, Var, constant
from hidet.ir.kernel import Kernel
from hidet.ir.node import Node
from hidet.ir.stmt import Declare, For, ForTasks, Stmt, While
from hidet.ir.walk import postorder, rebuild_statements
from hidet.passes.arithmetic.dominators import WHOLE, Arm, dominators, harmless
from hidet.passes.base import kernel_pass, with_body
from hidet.types import DType

LONG = 4096
"""How many nodes the expressions of a statement may have, written out: what is shorter stays."""

MOST = 64
"""How many nodes a subexpression may add to longer ones by being repeated."""

LOOKS = 3
"""How often an index is repeated by the access that it becomes: two comparisons and a load."""


@kernel_pass()
def bind_subexpressions(kernel: Kernel) -> Kernel:
    """Bind what an expression would repeat too often, as chains of indices do.

    before   y.put(i, x.get(f(f(f(i)))))     # f(k): t.get(k) + n if t.get(k) < 0 else t.get(k)
    after    part = f(i);  part_1 = f(part);  y.put(i, x.get(f(part_1)))

    Expressions are graphs, but what is used under several conditions is simplified, and written,
    under each: repeated within what is repeated, it would grow with every step. A value is bound
    under the condition that all its uses have in common: it stays unevaluated where none of them
    can be reached.
    """
    return Binding(kernel).run()


class Binding:
    """One kernel's statements being rewritten."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.size: dict[Node, int] = {}
        """How many nodes an expression has, written out."""

    def run(self) -> Kernel:
        """The kernel with such subexpressions bound ahead of the statements they are in."""
        return with_body(self.kernel, rebuild_statements(self.kernel.body, self.change))

    def change(self, s: Stmt) -> Any:
        """What becomes of a statement; what loops evaluate again has no place ahead of them."""
        roots = [child for child in s.children() if isinstance(child, Expr)]
        if isinstance(s, For | ForTasks | While) or sum(map(self.written, roots)) <= LONG:
            return s
        before, new = bound(roots)
        return (*before, s.map_children(lambda child: new.get(child, child))) if before else s

    def written(self, e: Expr) -> int:
        """The size of an expression, written out."""
        for each in postorder(e, set(self.size)) if e not in self.size else ():
            self.size[each] = written(each, self.size)
        return self.size[e]


def bound(roots: Sequence[Expr]) -> tuple[list[Declare], dict[Node, Node]]:
    """Declarations of what expressions repeat too often, and what their parts become with these."""
    nodes = [each for each in postorder(list(roots)) if isinstance(each, Expr)]
    arms, safe = dominators(nodes, roots), harmless(nodes)
    uses: Counter[Node] = Counter(roots)
    for each in nodes:
        for child in each.children():
            uses[child] += times(each)
    new: dict[Node, Any] = {}
    size: dict[Node, int] = {}
    made = Declarations(new)
    for each in nodes:
        size[each] = written(each, size)
        new[each] = each.map_children(new.__getitem__)
        repeated = (uses[each] - 1) * size[each] > MOST and each.children()
        if repeated and each in safe and isinstance(each.type, DType):
            new[each], size[each] = made.value(new[each], arms[each]), 1
    return made.all, new


class Declarations:
    """Variables for values, in order; `new` says what parts of expressions have become."""

    def __init__(self, new: Mapping[Any, Any]) -> None:
        self.new = new
        self.all: list[Declare] = []
        self.guards: dict[Arm, Expr] = {}

    def value(self, value: Expr, arm: Arm) -> Var:
        """A variable for a value, which is zero where its arm is not evaluated."""
        if arm is WHOLE:
            return self.add("part", value)
        return self.add("part", Select(self.guard(arm), value, constant(0, value.dtype)))

    def add(self, name: str, value: Expr) -> Var:
        """The next variable."""
        self.all.append(Declare(Var(name, value.dtype), value))
        return self.all[-1].var

    def guard(self, arm: Arm) -> Expr:
        """The condition under which an arm is evaluated."""
        if arm not in self.guards:
            own: Expr = self.new[arm.condition]
            own = own if arm.holds else Not(own)
            if arm.outer is not None and arm.outer is not WHOLE:
                own = And(self.reached(arm.outer), own)
            self.guards[arm] = own
        return self.guards[arm]

    def reached(self, arm: Arm) -> Expr:
        """The same as a variable: arms within it repeat it."""
        if not isinstance(self.guard(arm), Var):
            self.guards[arm] = self.add("reached", self.guard(arm))
        return self.guards[arm]


def written(e: Node, size: dict[Node, int]) -> int:
    """How many nodes an expression has, written out, given the sizes of its operands."""
    return 1 + times(e) * sum(size[child] for child in e.children())


def times(e: Node) -> int:
    """How often an expression will repeat its operands."""
    return LOOKS if isinstance(e, Get) else 1
