"""Tensors become stretches of memory: every access has one flat index."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import prod
from typing import cast

from hidet.ir.algebra import Algebra
from hidet.ir.bounds import Bounds
from hidet.ir.expr import (
    Address,
    Binary,
    Expr,
    FloorDiv,
    FloorMod,
    Less,
    Load,
    Var,
    constant,
    convert,
    wrap,
)
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.node import Node
from hidet.ir.stmt import Stmt, Store
from hidet.ir.walk import find, rebuild, substitute, variables
from hidet.mapping import TaskMapping
from hidet.mapping.slot import Slot
from hidet.passes.addresses.ownership import local_offset
from hidet.passes.base import kernel_pass, with_body
from hidet.passes.scopes import Scoped
from hidet.types import PointerType, Scope, TensorType, i32, i64

LARGE = 2**31


@kernel_pass()
def flatten_indices(kernel: Kernel) -> Kernel:
    """Give every load, store and address one flat index, by the tensor's layout.

    before   a: f32[m, 64] ...  a[i, j]
    after    a: ~f32 ...        a[i * 64 + j]

    Parameters become pointers, shared and register tensors one-dimensional. An offset that may
    reach 2^31 is computed in 64 bits, in kernels for a CPU but for what is within known sizes if
    fewer divisions are left then.
    """
    renamed = {var: flat(var) for var in variables(kernel) if isinstance(var.of, TensorType)}
    flattened = Flattening(kernel).run()
    body = with_renamed(flattened, renamed)
    params = tuple(renamed.get(p, p) for p in kernel.params)
    maps = tuple(substitute(each, renamed) for each in kernel.maps)
    made = replace(body, params=params, maps=maps)
    return made.hinting(lambda some: (renamed.get(p, p) for p in some))


def flat(var: Var) -> Var:
    """The variable of a tensor as one of a pointer or of a one-dimensional array."""
    of = var.of
    if not isinstance(of, TensorType):
        return var
    if of.scope is Scope.GLOBAL:
        return Var(var.name, PointerType(of.dtype))
    return Var(var.name, TensorType(of.dtype, (elements(of),), of.scope))


def elements(of: TensorType) -> int | Expr:
    """How many elements a tensor spans in memory (of one thread, if it is spread over threads)."""
    if isinstance(of.layout, TaskMapping):
        return of.layout.tasks_per_worker
    if of.layout is not None:
        return cast("int | Expr", of.layout.cosize)
    total: int | Expr = 1
    for size in of.shape:
        total = size if isinstance(total, int) and total == 1 else total * size
    return total


def with_renamed(kernel: Kernel, names: dict[Var, Var]) -> Kernel:
    """The kernel with variables replaced, where they are declared too."""

    def change(node: Node) -> Node:
        return names.get(node, node) if isinstance(node, Var) else node

    return with_body(kernel, tuple(rebuild(s, change) for s in kernel.body))


class Flattening(Scoped):
    """The rewriting of indices; tensors keep their variables here, so that shapes stay known."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.done: dict[tuple[Bounds, Expr], Expr] = {}
        self.algebra = Algebra(self.bounds)

    def expression(self, e: Expr) -> Expr:
        """`e` with flat indices."""
        key = self.bounds, e
        if key not in self.done:
            e = e.map_children(self.child)
            if isinstance(e, Load | Address) and isinstance(e.tensor.type, TensorType):
                e = replace(e, index=(self.offset(e.tensor.type, e.index),))
            self.done[key] = e
        return self.done[key]

    def leaf(self, s: Stmt) -> Iterable[Stmt]:
        """A statement with flat indices."""
        new = s.map_children(self.child)
        if isinstance(new, Store) and isinstance(new.tensor.type, TensorType):
            new = replace(new, index=(self.offset(new.tensor.type, new.index),))
        yield new

    def offset(self, of: TensorType, index: tuple[Expr, ...]) -> Expr:
        """Where the element at `index` lies, simplified."""
        algebra = self.algebra.at(self.bounds)
        if isinstance(of.layout, TaskMapping):
            return algebra.simplify(local_offset(of.layout, index))
        if not self.large(of):
            return algebra.simplify(flattened(of, index))
        found = algebra.simplify(flattened(of, [convert(i, i64) for i in index]))
        if self.kernel.kind is not KernelKind.CPU or not divisions(found):
            return found
        of, index = joined(of, index)
        parts = [convert(algebra.simplify(i), i64) for i in index]
        return min(found, algebra.simplify(flattened(of, parts)), key=divisions)

    def large(self, of: TensorType) -> bool:
        """Whether an offset may need 64 bits."""
        if of.scope is not Scope.GLOBAL:
            return False
        total = elements(of)
        if isinstance(total, int):
            return total >= LARGE
        count = wrap(1, i64)
        for size in of.layout.whole if isinstance(of.layout, Slot) else of.shape:
            count = count * convert(wrap(size), i64)
        limit = constant(LARGE, i64)
        return self.bounds.range(count).high is None or (
            self.bounds.known(Less(count, limit)) is not True
        )


def flattened(of: TensorType, index: Sequence[Expr]) -> Expr:
    """The offset of an element, by the tensor's layout."""
    return wrap(of.layout(*index)) if of.layout is not None else row_major(of, index)


def divisions(offset: Expr) -> int:
    """How many quotients and remainders an offset is made of: places in one run need none."""
    return sum(isinstance(each, FloorDiv | FloorMod) for each in find([offset], Binary))


def joined(of: TensorType, index: tuple[Expr, ...]) -> tuple[TensorType, tuple[Expr, ...]]:
    """A tensor without gaps whose last axes are one, as far as their sizes are known, and the place
    in it: 32 bits are enough there, and C++ compilers see which elements lie side by side."""
    known = 0
    sizes = of.shape if of.layout is None else ()
    while known < len(sizes) and isinstance(sizes[-1 - known], int):
        known += 1
    last = prod(size for size in sizes[len(sizes) - known :] if isinstance(size, int))
    if known < 2 or last >= LARGE:
        return of, index
    apart = len(sizes) - known
    ending = TensorType(of.dtype, sizes[apart:], of.scope)
    return (
        TensorType(of.dtype, (*sizes[:apart], last), of.scope),
        (*index[:apart], row_major(ending, index[apart:])),
    )


def row_major(of: TensorType, index: Sequence[Expr]) -> Expr:
    """The offset in a tensor without gaps, last dimension contiguous."""
    total: Expr | None = None
    for at, size in zip(index, of.shape, strict=True):
        total = at if total is None else total * size + at
    return constant(0, i32) if total is None else total
