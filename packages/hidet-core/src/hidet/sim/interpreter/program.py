"""A kernel compiled to closures, with what is known of it before it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hidet.intrinsics import INTRINSICS
from hidet.ir.expr import Expr, Get, Load, Var
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.node import Node
from hidet.ir.stmt import Invoke, Put, Stmt, Store, While
from hidet.ir.walk import find, postorder
from hidet.sim.interpreter.compile_stmt import Statements
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Mask
from hidet.types import PointerType, Scope, TensorType


@dataclass(frozen=True, eq=False)
class Program:
    """A compiled kernel."""

    kernel: Kernel
    run: Callable[[SimtGroup, Mask], Any]
    sites: list[Stmt]
    granule: dict[str, int]
    """The finest access in bytes of each scope."""
    written: set[Var]
    """Parameters the kernel may write."""
    spins: bool
    """Whether threads may wait for other blocks: all blocks must then be alive at once."""
    together: int
    """How many neighbouring threads of a block must be in one SIMT group at least."""


@lru_cache(maxsize=64)
def compiled(kernel: Kernel) -> Program:
    """The kernel as closures, those of the last kernels kept: one may be launched many times."""
    statements = Statements(in_cpu=kernel.kind is KernelKind.CPU)
    run = statements.body(kernel.body)
    return Program(
        kernel,
        run,
        statements.sites,
        granules(kernel),
        set(kernel.params) - only_read(kernel),
        any(waits_for_memory(loop) for loop in find(kernel.body, While)),
        max((together(call.name) for call in find(kernel.body, Invoke)), default=32),
    )


def together(intrinsic: str) -> int:
    """How many neighbouring threads must execute an intrinsic as rows of one SIMT group."""
    if intrinsic.startswith("syncthreads_"):
        return 1024
    return 128 if intrinsic.startswith(("wgmma", "setmaxnreg")) else 32


def waits_for_memory(loop: While) -> bool:
    """Whether a loop could wait for what another block writes."""
    return any(True for _ in find(loop, Invoke)) or any(True for _ in find(loop.condition, Load))


def granules(kernel: Kernel) -> dict[str, int]:
    """The finest access in bytes of each scope; what goes through pointers counts for all."""
    found = {str(scope): 16 for scope in Scope}
    for access in postorder(kernel.body):
        if isinstance(access, Load | Store | Get | Put):
            note(found, access.tensor)
        elif isinstance(access, Invoke):
            for arg in access.args:
                if isinstance(arg.type, PointerType):
                    note(found, arg)
    for each in kernel.maps:
        note(found, each.tensor)
    return found


def note(found: dict[str, int], tensor: Expr) -> None:
    """Enter an access through `tensor`."""
    of = tensor.type
    scopes = [of.scope] if isinstance(of, TensorType) else list(Scope)
    for scope in scopes:
        found[scope] = min(found[scope], tensor.dtype.nbytes)


def stored_by_map(kernel: Kernel) -> set[Var]:
    """The parameters that the copy engine writes."""
    stores = (s for s in find(kernel.body, Invoke) if s.name in INTRINSICS)
    written = {arg for s in stores for arg in INTRINSICS[s.name].effects(s).writes}
    return {each.tensor for each in kernel.maps if each.var in written}


def only_read(kernel: Kernel) -> set[Var]:
    """Parameters of which the kernel only loads elements."""
    used: set[Node] = set()
    for node in postorder(kernel.body):
        for child in node.children():
            reads = isinstance(node, Load | Get) and child is node.tensor
            if isinstance(child, Var) and not reads:
                used.add(child)
    used |= stored_by_map(kernel)
    return {var for var in kernel.params if var not in used}
