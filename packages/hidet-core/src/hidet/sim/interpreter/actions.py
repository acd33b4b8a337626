"""Statements without control flow to closures: `(simt, mask) -> None`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

import numpy as np

from hidet.errors import BadKernel
from hidet.ir.expr import Expr, Var, is_vector
from hidet.ir.stmt import Assert, Assign, Declare, Print, Put, Stmt, Store
from hidet.sim.faults import AssertionFailed
from hidet.sim.interpreter.compile_expr import Expressions
from hidet.sim.interpreter.declare import declared_array
from hidet.sim.memories.access import store
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Mask, choose, every, rows, some
from hidet.types import TensorType

LENGTHS = re.compile(r"(%[-+ #0]*\d*(?:\.\d+)?)(?:hh|h|ll|l)([diouxX])")
"""A conversion of C with a length, which Python's formats do not have."""


class Actions:
    """Compiles the statements after which the same threads go on."""

    def __init__(self, expr: Expressions) -> None:
        self.expr = expr

    def __call__(self, s: Stmt) -> Callable[[SimtGroup, Mask], None]:
        """What a simple statement does."""
        match s:
            case Declare(var, init):
                return self.declare(var, init)
            case Assign(var, value):
                return self.assign(var, value)
            case Store(tensor, index, value):
                return self.store(tensor, index, value)
            case Put(tensor, index, value):
                return self.put(tensor, index, value)
            case Assert(condition, message):
                return self.check(condition, message)
            case Print(format, args):
                return self.print(format, args)
        raise BadKernel(f"the simulator does not know {type(s).__name__} statements: {s}")

    def declare(self, var: Var, init: Expr | None) -> Callable[[SimtGroup, Mask], None]:
        """A variable or an array comes into being."""
        if isinstance(var.of, TensorType):
            return declared_array(var, self.expr(init) if init is not None else None, self.expr)
        if init is None:

            def undefined(simt: SimtGroup, mask: Mask) -> None:
                simt.env.pop(var, None)
                simt.unset[var] = np.ones(simt.count, np.bool_)

            return undefined
        value = self.expr(init)

        def defined(simt: SimtGroup, mask: Mask) -> None:
            simt.env[var] = value(simt, mask)

        return defined

    def assign(self, var: Var, value: Expr) -> Callable[[SimtGroup, Mask], None]:
        """A new value where the mask is set."""
        new, vector = self.expr(value), is_vector(var)

        def run(simt: SimtGroup, mask: Mask) -> None:
            found = new(simt, mask)
            simt.assign(var, found, mask, lambda m, a, b: choose(m, a, b, vector))

        return run

    def store(
        self, tensor: Expr, index: tuple[Expr, ...], value: Expr
    ) -> Callable[[SimtGroup, Mask], None]:
        """A write to memory."""
        lanes = value.type.lanes if is_vector(value) else 1  # type: ignore[union-attr]
        address, new, of = self.expr.element(tensor, index, lanes), self.expr(value), tensor.dtype

        def run(simt: SimtGroup, mask: Mask) -> None:
            found = new(simt, mask)
            store(simt, address(simt, mask), of, lanes, found, mask)

        return run

    def put(
        self, tensor: Var, index: tuple[Expr, ...], value: Expr
    ) -> Callable[[SimtGroup, Mask], None]:
        """A write that is dropped outside of the shape."""
        inside, write = self.expr.inside(tensor, index), self.store(tensor, index, value)

        def run(simt: SimtGroup, mask: Mask) -> None:
            within = mask & inside(simt, mask)
            if some(within):
                write(simt, mask if every(within) else within)

        return run

    def check(self, condition: Expr, message: str) -> Callable[[SimtGroup, Mask], None]:
        """An assertion."""
        holds = self.expr(condition)

        def run(simt: SimtGroup, mask: Mask) -> None:
            broken = mask & ~np.asarray(holds(simt, mask), np.bool_)
            if some(broken):
                simt.fault(AssertionFailed, message, int(np.argmax(broken)))

        return run

    def print(self, format: str, args: tuple[Expr, ...]) -> Callable[[SimtGroup, Mask], None]:
        """A line for each thread."""
        parts = [self.expr(arg) for arg in args]
        plain = LENGTHS.sub(r"\1\2", format)

        def run(simt: SimtGroup, mask: Mask) -> None:
            values = [part(simt, mask) for part in parts]
            for row in np.flatnonzero(mask):
                numbers = tuple(rows(value, row).item() for value in values)
                line = plain % numbers
                simt.run.report.printed.append(line)
                sys.stdout.write(line)

        return run
