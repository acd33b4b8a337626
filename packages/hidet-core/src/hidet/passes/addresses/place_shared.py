"""Shared memory beyond the static limit becomes one dynamic allocation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import cast

from hidet.errors import BadKernel
from hidet.ir.expr import Address, Reinterpret, Var, constant
from hidet.ir.kernel import Kernel
from hidet.ir.node import Node
from hidet.ir.stmt import Declare, Invoke, Stmt
from hidet.ir.walk import find, postorder, rebuild_body
from hidet.passes.base import kernel_pass, with_body
from hidet.types import PointerType, Scope, TensorType, i32, u8

STATIC = 48 * 1024  # bytes of static shared memory that every target allows
ALIGNMENT = 1024  # bytes: what swizzled TMA tiles need; nothing needs more
BARRIER = "syncthreads"


@kernel_pass()
def place_shared(kernel: Kernel) -> Kernel:
    """Merge shared arrays into one dynamic allocation where they exceed 48 KiB together.

    before   s: f32[8192] shared;  t: f32[8192] shared
    after    shared: u8[65536] shared;  s: ~f32 = &shared[0];  t: ~f32 = &shared[32768]

    Two arrays overlap only if the kernel's outermost statements that use them lie on different
    sides of an outermost barrier, and nothing in the kernel is asynchronous.
    """
    arrays = shared_arrays(kernel)
    if sum(map(nbytes, arrays)) <= STATIC:
        return kernel
    if kernel.launch.shared_bytes:
        raise BadKernel(f"{kernel.name} has shared arrays beside dynamic shared memory of its own")
    offsets, total = placed(lifetimes(kernel, arrays))
    whole = Var("shared", TensorType(u8, (total,), Scope.SHARED))
    pointers = {var: Var(var.name, PointerType(var.dtype)) for var in arrays}

    def change(node: Node) -> Node:
        if isinstance(node, Declare) and node.var in at:
            address = Address(whole, (constant(offsets[at[node.var]], i32),))
            return Declare(node.var, Reinterpret(address, node.var.of), node.place)  # type: ignore[arg-type]
        return pointers.get(node, node) if isinstance(node, Var) else node

    at = {pointer: var for var, pointer in pointers.items()}
    body = (Declare(whole), *rebuild_body(kernel.body, change))
    return replace(with_body(kernel, body), launch=replace(kernel.launch, shared_bytes=total))


@dataclass(frozen=True)
class Life:
    """A shared array and the intervals between outermost barriers in which it is used."""

    var: Var
    first: int
    last: int


def shared_arrays(kernel: Kernel) -> list[Var]:
    """The shared arrays, in the order of their declarations."""
    found = (s.var for s in find(kernel.body, Declare))
    return [v for v in found if isinstance(v.of, TensorType) and v.of.scope is Scope.SHARED]


def nbytes(var: Var) -> int:
    """The bytes of an array."""
    of = cast(TensorType, var.of)
    if not all(isinstance(size, int) for size in of.shape):
        raise BadKernel(f"the shared array {var} has no constant size", help="use integers")
    return of.dtype.nbytes * math.prod(cast(tuple[int, ...], of.shape))


def lifetimes(kernel: Kernel, arrays: list[Var]) -> list[Life]:
    """When each array is used, counted in outermost barriers passed."""
    if any(s.name != BARRIER for s in find(kernel.body, Invoke)) or has_pointers(kernel, arrays):
        return [Life(var, 0, 0) for var in arrays]
    used: dict[Var, list[int]] = {var: [] for var in arrays}
    passed = 0
    for s in kernel.body:
        if isinstance(s, Invoke):
            passed += 1
            continue
        for var in mentioned(s):
            if var in used:
                used[var].append(passed)
    return [Life(var, min(at, default=0), max(at, default=0)) for var, at in used.items()]


def has_pointers(kernel: Kernel, arrays: list[Var]) -> bool:
    """Whether an address of a shared array is taken, so that its uses cannot be seen."""
    return any(address.tensor in arrays for address in find(kernel.body, Address))


def mentioned(s: Stmt) -> list[Var]:
    """The variables that a statement uses, not only declares."""
    nodes: list[Node] = []
    for node in postorder(s):
        if not isinstance(node, Declare):
            nodes.extend(child for child in node.children() if isinstance(child, Var))
    return cast(list[Var], nodes)


def placed(lives: list[Life]) -> tuple[dict[Var, int], int]:
    """An offset for each array, large ones first, and the bytes of all; overlapping lives part."""
    done: list[tuple[Life, int]] = []
    for life in sorted(lives, key=lambda life: -nbytes(life.var)):
        busy = sorted(
            (offset, offset + nbytes(other.var))
            for other, offset in done
            if life.first <= other.last and other.first <= life.last
        )
        start = 0
        for low, high in busy:
            if start + nbytes(life.var) <= low:
                break
            start = max(start, -(-high // ALIGNMENT) * ALIGNMENT)
        done.append((life, start))
    total = max(offset + nbytes(life.var) for life, offset in done)
    return {life.var: offset for life, offset in done}, total
