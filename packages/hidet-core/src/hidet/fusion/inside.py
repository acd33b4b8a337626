"""Kernels that write their result, or windows of it, into larger tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from hidet.ir.expr import Expr, Var
from hidet.ir.kernel import Call, Kernel, Module
from hidet.ir.node import Node
from hidet.ir.stmt import Body, Declare, Put
from hidet.ir.walk import rebuild_body
from hidet.types import Size, TensorType

E = TypeVar("E", bound=Expr)


@dataclass(frozen=True)
class Window:
    """What is written to one place: elements of a result from `starts` on, as many as the type has
    room for, where its layout says."""

    type: TensorType
    starts: tuple[Size, ...]

    def index(self, of: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The index in the window of an element of the result; outside of it nothing is written."""
        pairs = zip(of, self.starts, strict=True)
        return tuple(
            at if isinstance(start, int) and start == 0 else at - start for at, start in pairs
        )


def write_inside(module: Module, windows: Sequence[Window], stored: bool) -> Module:
    """The module with its last parameter, a result that it touches by `put` alone, written to all
    of `windows`, and to memory of its own too if it is `stored`.

    before   y.put(i, j, a + b)               # y: f32[m, 8]
    after    y0.put(i, j, a + b)              # y0: f32[m, 8] @ (0, 16) in (m, 32)
    """
    return Redirection(module, windows, stored).run()


class Redirection:
    """The writes of one result being sent elsewhere."""

    def __init__(self, module: Module, windows: Sequence[Window], stored: bool) -> None:
        self.module, self.result = module, module.params[-1]
        names = (f"{self.result.name}{number}" for number in range(len(windows)))
        self.windows = {Var(n, each.type): each for n, each in zip(names, windows, strict=True)}
        self.targets = (*([self.result] if stored else []), *self.windows)

    def run(self) -> Module:
        """The module that writes elsewhere."""
        module = self.module
        kernels = tuple(self.rewritten(kernel) for kernel in module.kernels)
        calls = tuple(Call(e.kernel, self.instead(e.args), e.place) for e in module.calls)
        return replace(module, params=self.instead(module.params), kernels=kernels, body=calls)

    def rewritten(self, kernel: Kernel) -> Kernel:
        """One of its kernels."""
        if self.result not in kernel.params:
            return kernel
        body = rebuild_body(kernel.body, self.change)
        return replace(kernel, params=self.instead(kernel.params), body=body)

    def instead(self, given: Sequence[E]) -> tuple[E | Var, ...]:
        """Parameters or arguments with all targets in the place of the result."""
        return tuple(
            var for each in given for var in (self.targets if each is self.result else (each,))
        )

    def change(self, node: Node) -> Node | Body:
        """What becomes of a node: a write is one for each target, of a value computed once."""
        if not (isinstance(node, Put) and node.tensor is self.result):
            return node
        if len(self.targets) == 1:
            return self.put(node, self.targets[0], node.value)
        value = Var("value", node.value.dtype)
        puts = (self.put(node, each, value) for each in self.targets)
        return (Declare(value, node.value, node.place), *puts)

    def put(self, put: Put, target: Var, value: Expr) -> Put:
        """The write to one target."""
        window = self.windows.get(target)
        index = put.index if window is None else window.index(put.index)
        return Put(target, index, value, put.place)
