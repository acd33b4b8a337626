"""Reads of elements apart in memory have no condition: compilers gather vectors, but not masked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

from hidet.ir.algebra import simplify_expression
from hidet.ir.certain import safe_nodes
from hidet.ir.expr import (
    And,
    BitAnd,
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
from hidet.ir.walk import (
    contains,
    find,
    postorder,
    rebuild_statements,
    replaced,
    substitute,
    variables,
)
from hidet.passes.addresses.flatten_indices import row_major
from hidet.passes.base import kernel_pass, with_body
from hidet.types import Scope, Size, TensorType, i32

MANY = 3
"""Parts of a condition from which on it is spelt as masks."""


@kernel_pass()
def read_anyway(kernel: Kernel) -> Kernel:
    """Read some element that is there where the one meant is not, in vector loops on a CPU.

    before   for j in vectorize(n):  y[j] = x[2 * j - 1] if 1 <= 2 * j else 0
    after    for j in vectorize(n):  read = x[max(2 * j - 1, 0)];  y[j] = read if 1 <= 2 * j else 0

    The same goes for reads inside a value, as of `2 * x[j] if ... else 0`, and for those that say
    where others are, as of `x[i[j]] if ... else 0`. Where three conditions
    or more have to hold, each becomes a number, all bits of which are set where it does.
    One element for all iterations is read ahead of any choice. Neighbours stay as they are: they
    are read under a mask, unless a tensor of bools decides. Of a tensor whose size is open there is
    an element wherever a loop around does not run for a size of zero.
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
    """The symbols that are not zero where a loop of so many iterations has one."""
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
            named: dict[Expr, Expr] = {}
            for choice in find([each], Select):
                reads = decided(choice, there)
                for read in ahead_of(choice, reads, loop.var, values, moving):
                    if read not in named:
                        value = Var("read", read.dtype)
                        made.append(Declare(value, clamped(read, named)))
                        named[read] = value
                if not named.keys().isdisjoint(reads):
                    now = replaced(choice, named)
                    known[choice] = replace(now, condition=as_masks(now.condition))
        if isinstance(each, Declare) and each.init is not None:
            meant = substitute(each.init, values)
            if not chooses(meant):
                values[each.var] = meant
            elif not moving.isdisjoint(variables(meant)):
                moving.add(each.var)
        made.append(replaced(each, known) if known else each)
    return tuple(made)


def decided(choice: Select, there: frozenset[Var]) -> list[Load]:
    """The reads of parameters that a choice decides about, if any element may be read there; none
    where another choice decides further. What says the place of one comes before it, and is to be
    such a read, too."""
    sides = [choice.then, choice.otherwise]
    reads = [*find(sides, Load)]
    if contains(sides, Select) or not all(is_parameter(each, there) for each in places(reads)):
        return []
    return [each for each in reads if is_parameter(each, there)]


def ahead_of(
    choice: Select,
    reads: Sequence[Load],
    iteration: Var,
    values: Mapping[Var, Expr],
    moving: set[Var],
) -> list[Load]:
    """Those of a choice's reads that come ahead of it: of one element for all iterations, of
    elements apart from each other, those that say where others are, and all where bools decide."""
    always = reads if asks_bytes(choice) else places(reads)
    steps = {read: step(read, iteration, values, moving) for read in reads}
    apart = isinstance(choice.otherwise, Const)
    return [r for r, n in steps.items() if r in always or n == 0 or (apart and n != 1)]


def asks_bytes(choice: Select) -> bool:
    """Whether a tensor of bools decides: GCC has no masks of vectors by those."""
    return any(each.dtype.is_bool for each in find([choice.condition], Load))


def places(reads: Sequence[Load]) -> list[Load]:
    """The reads that say where others are."""
    return [*find([each for read in reads for each in read.index], Load)]


def as_masks(condition: Expr) -> Expr:
    """A condition of many parts with each as a number, all bits of which are set where it holds:
    GCC makes no vectors of three conditions and more."""
    parts = parts_of(condition)
    if len(parts) < MANY or condition not in safe_nodes([*find([condition], Expr)]):
        return condition
    masks = [-each.cast(i32) for each in parts]
    return reduce(BitAnd, masks).ne(0)


def parts_of(condition: Expr) -> list[Expr]:
    """The conditions that all have to hold."""
    if isinstance(condition, And):
        return [*parts_of(condition.a), *parts_of(condition.b)]
    return [condition]


def is_parameter(read: Load, there: frozenset[Var]) -> bool:
    """Whether one element is read of a parameter that has some; symbols that are `there` are not
    zero."""
    of = read.tensor.type
    if read.lanes != 1 or not isinstance(of, TensorType):
        return False
    if of.scope is not Scope.GLOBAL or of.layout is not None:
        return False
    return all(s in there if isinstance(s, Var) else has_elements(s) for s in of.shape)


def step(read: Load, iteration: Var, values: Mapping[Var, Expr], moving: set[Var]) -> int | None:
    """How far apart the elements are that neighbouring iterations read; None where that differs.

    `values` are what variables of the loop stand for; `moving` are those that stand for themselves
    and have another value in another iteration.
    """
    of = read.tensor.type
    assert isinstance(of, TensorType), "it is a parameter"
    flat = simplify_expression(row_major(of, tuple(substitute(i, values) for i in read.index)))
    form = Terms().form(flat)
    others = any(not moving.isdisjoint(variables(list(e))) for e in form if e != (iteration,))
    return None if others else form.get((iteration,), 0)


def has_elements(size: Size) -> bool:
    """Whether an axis is known to have an element."""
    return isinstance(size, int) and size > 0


def chooses(e: Node | Sequence[Expr]) -> bool:
    """Whether memory or a condition decides about a value."""
    return any(isinstance(each, Load | Select) for each in postorder(e))


def clamped(read: Load, named: Mapping[Expr, Expr]) -> Load:
    """A read of an element that is there; of reads that say its place some are `named`."""
    of = read.tensor.type
    assert isinstance(of, TensorType)
    index = []
    for place, size in zip(read.index, of.shape, strict=True):
        each = replaced(place, named)
        first, final = constant(0, each.dtype), convert(wrap(size) - 1, each.dtype)
        index.append(Maximum(first, Minimum(each, final)))
    return Load(read.tensor, tuple(index))
