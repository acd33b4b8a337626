"""Barriers that order nothing are dropped."""

from __future__ import annotations

from hidet.ir.expr import Address, Expr, Load
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Assign, Body, Declare, For, If, Invoke, Stmt, While
from hidet.ir.walk import postorder
from hidet.passes.base import kernel_pass, with_body
from hidet.types import Scope, TensorType

BARRIER = "syncthreads"


@kernel_pass()
def order_barriers(kernel: Kernel) -> Kernel:
    """Drop a barrier if no thread touches memory between it and the barrier before it.

    before   syncthreads();  x = t + 1;  syncthreads()
    after    syncthreads();  x = t + 1

    The start of the kernel counts as a barrier. Nothing is moved, and any intrinsic, loop or
    branch between two barriers keeps both.
    """
    if kernel.kind is not KernelKind.CUDA:
        return kernel
    return with_body(kernel, ordered(kernel.body, fresh=True))


def ordered(body: Body, fresh: bool) -> Body:
    """`body` without needless barriers; `fresh`: a barrier has just been passed."""
    out: list[Stmt] = []
    for s in body:
        if is_barrier(s):
            if fresh:
                continue
            fresh = True
        else:
            s = within(s)
            fresh = fresh and quiet(s)
        out.append(s)
    same = len(out) == len(body) and all(a is b for a, b in zip(out, body, strict=True))
    return body if same else tuple(out)


def is_barrier(s: Stmt) -> bool:
    """Whether `s` is a plain barrier of the whole block."""
    return isinstance(s, Invoke) and s.name == BARRIER and not (s.args or s.options)


def within(s: Stmt) -> Stmt:
    """`s` with the lists of statements in it ordered."""
    match s:
        case For(var, extent, body, kind, place):
            new = ordered(body, fresh=False)
            return s if new is body else For(var, extent, new, kind, place)
        case While(condition, body, place):
            new = ordered(body, fresh=False)
            return s if new is body else While(condition, new, place)
        case If(condition, then, otherwise, place):
            first, second = ordered(then, fresh=False), ordered(otherwise, fresh=False)
            same = first is then and second is otherwise
            return s if same else If(condition, first, second, place)
    return s


def quiet(s: Stmt) -> bool:
    """Whether `s` touches no memory that other threads see."""
    if not isinstance(s, Declare | Assign):
        return False
    return not any(isinstance(n, Load | Address) and visible(n.tensor) for n in postorder(s))


def visible(tensor: Expr) -> bool:
    """Whether other threads may see the memory of `tensor`."""
    of = tensor.type
    return not (isinstance(of, TensorType) and of.scope is Scope.REGISTER)
