"""What statements read and write, by the variables that they name."""

from __future__ import annotations

from hidet.intrinsics import INTRINSICS
from hidet.ir.expr import Load, Var
from hidet.ir.stmt import Body, Invoke, Stmt, Store
from hidet.ir.walk import postorder, variables


def touched(root: Stmt | Body) -> tuple[set[Var], set[Var]]:
    """The variables through which lowered statements read, and those through which they write:
    tensors, pointers and tensor maps."""
    reads: set[Var] = set()
    writes: set[Var] = set()
    for node in postorder(root):
        match node:
            case Store(tensor=Var() as tensor):
                writes.add(tensor)
            case Load(tensor=Var() as tensor):
                reads.add(tensor)
            case Invoke():
                found = INTRINSICS[node.name].effects(node)
                reads.update(variables(found.reads))
                writes.update(variables(found.writes))
    return reads, writes
