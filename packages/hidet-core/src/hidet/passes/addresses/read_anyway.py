"""Reads of elements apart in memory have no condition: compilers gather vectors, but not masked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hidet.ir.algebra import simplify_expression
from hidet.ir.expr import (
    Const,
    Expr,
    Load,
    Maximum,
    Minimum,
    Select,
    Var,
    constant,
    convert,
    wrap,
)
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.linear import Terms
from hidet.ir.node import Node
from hidet.ir.stmt import Assign, Body, Declare, For, LoopKind, Stmt, Store
from hidet.ir.walk import find, postorder, rebuild_statements, replaced, substitute, variables
from hidet.passes.addresses.flatten_indices import row_major
from hidet.passes.base import kernel_pass, with_body
from hidet.types import Scope, Size, TensorType


@kernel_pass()
def read_anyway(kernel: Kernel) -> Kernel:
    """Read some element that is there where the one meant is not, in vector loops on a CPU.

    before   for j in vectorize(n):  y[j] = x[2 * j - 1] if 1 <= 2 * j else 0
    after    for j in vectorize(n):  read = x[max(2 * j - 1, 0)];  y[j] = read if 1 <= 2 * j else 0

    Elements that are neighbours stay as they are: they are read under a mask. Of a tensor whose
    size is open there is an element wherever a loop around does not run for a size of zero.
    """
    if kernel.kind is not KernelKind.CPU:
        return kernel
    made = [rebuilt for each in kernel.body for rebuilt in changed(each)]
    return with_body(kernel, tuple(made))


def changed(outermost: Stmt) -> Body:
    """A statement of a kernel with such reads in its vector loops."""
    there = symbols_of(outermost.extent) if isinstance(outermost, For) else frozenset()

    def change(node: Stmt) -> Any:
        if not (isinstance(node, For) and node.kind is LoopKind.VECTOR):
            return node
        body = ahead(node, there)
        return node if body == node.body else replace(node, body=body)

    return rebuild_statements((outermost,), change)


def symbols_of(extent: Expr) -> frozenset[Var]:
    """The symbols that are not zero where a loop of so many turns has one."""
    zero = constant(0, extent.dtype)
    return frozenset(
        each
        for each in variables(extent)
        if simplify_expression(substitute(extent, {each: zero})) == zero
    )


def ahead(loop: For, there: frozenset[Var]) -> Body:
    """The body of a loop with such reads ahead of the statements they are in; symbols that are
    `there` are not zero."""
    values: dict[Var, Expr] = {}
    moving = {loop.var}
    made: list[Stmt] = []
    for each in loop.body:
        known: dict[Expr, Expr] = {}
        if isinstance(each, Declare | Assign | Store):
            for choice in find([each], Select):
                if is_apart(choice, loop.var, values, moving, there):
                    assert isinstance(choice.then, Load)
                    value = Var("read", choice.dtype)
                    made.append(Declare(value, clamped(choice.then)))
                    known[choice] = Select(choice.condition, value, choice.otherwise)
        if isinstance(each, Declare) and each.init is not None:
            meant = substitute(each.init, values)
            if not chooses(meant):
                values[each.var] = meant
            elif not moving.isdisjoint(variables(meant)):
                moving.add(each.var)
        made.append(replaced(each, known) if known else each)
    return tuple(made)


def is_apart(
    choice: Select, turn: Var, values: Mapping[Var, Expr], moving: set[Var], there: frozenset[Var]
) -> bool:
    """Whether a choice reads elements of a parameter, not side by side, of which any may be read.

    `values` are what variables of the loop stand for; `moving` are those that stand for themselves
    and have another value in another turn.
    """
    read = choice.then
    if not (isinstance(read, Load) and isinstance(choice.otherwise, Const) and read.lanes == 1):
        return False
    of = read.tensor.type
    if not isinstance(of, TensorType) or of.scope is not Scope.GLOBAL or of.layout is not None:
        return False
    if not all(s in there if isinstance(s, Var) else has_elements(s) for s in of.shape):
        return False
    if chooses(read.index):
        return False
    flat = simplify_expression(row_major(of, tuple(substitute(i, values) for i in read.index)))
    form = Terms().form(flat)
    others = any(not moving.isdisjoint(variables(list(e))) for e in form if e != (turn,))
    return others or form.get((turn,), 0) not in (0, 1)


def has_elements(size: Size) -> bool:
    """Whether an axis is known to have an element."""
    return isinstance(size, int) and size > 0


def chooses(e: Node | Sequence[Expr]) -> bool:
    """Whether memory or a condition decides about a value."""
    return any(isinstance(each, Load | Select) for each in postorder(e))


def clamped(read: Load) -> Load:
    """A read of an element that is there."""
    of = read.tensor.type
    assert isinstance(of, TensorType)
    index = []
    for each, size in zip(read.index, of.shape, strict=True):
        first, final = constant(0, each.dtype), convert(wrap(size) - 1, each.dtype)
        index.append(Maximum(first, Minimum(each, final)))
    return Load(read.tensor, tuple(index))
