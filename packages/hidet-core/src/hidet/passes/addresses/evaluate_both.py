"""Vector loops evaluate both sides of a condition: compilers make no vectors of jumps."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace
from typing import Any

from hidet.ir.certain import safe_nodes
from hidet.ir.expr import (
    And,
    Binary,
    BitAnd,
    BitOr,
    Const,
    Expr,
    FloorDiv,
    FloorMod,
    Load,
    Or,
    TruncDiv,
    TruncMod,
    Var,
    constant,
)
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Assign, Declare, For, LoopKind, Stmt, Store
from hidet.ir.walk import contains, find, rebuild, replaced
from hidet.passes.addresses.guard_bounds import inside
from hidet.passes.base import kernel_pass
from hidet.passes.loops.unswitch_loops import read_always
from hidet.passes.scopes import Scoped
from hidet.types import TensorType

DIVIDING = (FloorDiv, FloorMod, TruncDiv, TruncMod)


@kernel_pass()
def evaluate_both(kernel: Kernel) -> Kernel:
    """Evaluate the second side of a condition that reads memory, whether or not the first decides.

    before   for j in vectorize(n):  y[j] = a[j] < b[j] and t[0] < a[j]
    after    for j in vectorize(n):  y[j] = a[j] < b[j] & t[0] < a[j]

    On a CPU only, and where all that the second side reads lies inside of its tensors and nothing
    is divided by an integer, which may be zero.
    """
    return Both(kernel).run() if kernel.kind is KernelKind.CPU else kernel


class Both(Scoped):
    """The rewriting."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.always: Set[Expr] | None = None
        """What each iteration of the vector loop around reads under no condition; None outside."""

    def loop(self, s: For) -> Iterable[Stmt]:
        """A vector loop says what is read in each iteration."""
        outside = self.always
        if s.kind is LoopKind.VECTOR:
            self.always = read_always(s)
        body = self.under(self.bounds.count(s.var, s.extent), s.body)
        self.always = outside
        yield s if body == s.body else replace(s, body=body)

    def leaf(self, s: Stmt) -> Iterable[Stmt]:
        """A statement with both sides of its conditions evaluated, if it is in a vector loop."""
        is_inside = self.always is not None and isinstance(s, Declare | Assign | Store)
        yield rebuild(s, self.change) if is_inside else s

    def change(self, node: Any) -> Any:
        """A condition whose second side may be evaluated in any case, as one without a jump."""
        if not (isinstance(node, And | Or) and reads(node) and self.is_safe(node.b)):
            return node
        return (BitAnd if isinstance(node, And) else BitOr)(node.a, node.b)

    def is_safe(self, side: Expr) -> bool:
        """Whether evaluating an expression does nothing but take time."""
        there: dict[Expr, Expr] = {
            each: constant(0, each.dtype) for each in find([side], Load) if self.is_there(each)
        }
        plain = replaced(side, there)
        return plain in safe_nodes([*find([plain], Expr)])

    def is_there(self, read: Load) -> bool:
        """Whether an element is read in any case, or at a place that is certain to be inside."""
        if read in (self.always or ()):
            return True
        tensor = read.tensor
        if not (isinstance(tensor, Var) and isinstance(tensor.of, TensorType) and read.lanes == 1):
            return False
        divisors = [each.b for each in find(read.index, Binary) if isinstance(each, DIVIDING)]
        return (
            all(isinstance(each, Const) for each in divisors)
            and all(map(self.is_there, find(read.index, Load)))
            and inside(tensor, read.index, self.bounds) is None
        )


def reads(condition: And | Or) -> bool:
    """Whether the second side reads memory, or is a name beside a first one that does; compilers
    evaluate other conditions of their own accord."""
    sides = [condition.a if isinstance(condition.b, Var) else condition.b]
    return contains(sides, Load)
