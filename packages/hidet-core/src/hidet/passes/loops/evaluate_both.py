"""Vector loops evaluate both sides of a condition: compilers make no vectors of jumps."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

from hidet.ir.certain import safe_nodes
from hidet.ir.expr import And, BitAnd, BitOr, Expr, Load, Or
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Assign, Declare, For, Stmt, Store
from hidet.ir.walk import find, rebuild
from hidet.passes.base import kernel_pass
from hidet.passes.loops.unswitch_loops import is_at_known_place, read_always
from hidet.passes.loops.vector_loops import with_vector_loops


@kernel_pass()
def evaluate_both(kernel: Kernel) -> Kernel:
    """Evaluate the second side of a condition that reads memory whether or not the first decides.

    before   for j in vectorize(n):  y[j] = a[j] < b[j] and t[0] < a[j]
    after    for j in vectorize(n):  y[j] = a[j] < b[j] & t[0] < a[j]

    On a CPU only, and where all that the second side reads is there and nothing is divided by an
    integer, which may be zero.
    """
    return with_vector_loops(kernel, together)


def together(loop: For) -> For:
    """The loop with such conditions."""
    always = read_always(loop)

    def change(node: Any) -> Any:
        if not (isinstance(node, And | Or) and reads(node.b) and is_safe(node.b, always)):
            return node
        return (BitAnd if isinstance(node, And) else BitOr)(node.a, node.b)

    def changed(each: Stmt) -> Stmt:
        return rebuild(each, change) if isinstance(each, Declare | Assign | Store) else each

    body = tuple(map(changed, loop.body))
    return loop if body == loop.body else replace(loop, body=body)


def reads(side: Expr) -> bool:
    """Whether memory is read; compilers evaluate other conditions of their own accord."""
    return next(find([side], Load), None) is not None


def is_safe(side: Expr, always: Set[Expr]) -> bool:
    """Whether evaluating an expression does nothing but take time."""
    there = {each for each in find([side], Load) if each in always or is_at_known_place(each)}
    return side in safe_nodes(list(find([side], Expr)), there)
