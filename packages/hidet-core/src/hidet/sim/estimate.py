"""How many registers a thread of a kernel needs, estimated before the compiler decides."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from hidet.errors import BadKernel, Place
from hidet.ir.expr import Const, Expr, Var
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.node import Node
from hidet.ir.stmt import Body, Declare, For, ForTasks, If, Invoke, Stmt, While
from hidet.ir.walk import find
from hidet.sim.faults import ResourceOveruse
from hidet.sim.memories.shared import DEVICE
from hidet.types import DType, PointerType, Scope, TensorType, VectorType

STEP = 8
"""Registers are given to threads in multiples of this many."""
FIXED = 16
"""Registers for addresses and indices that no variable names."""


@dataclass
class Life:
    """From where to where a variable is needed, counted in statements, and its registers."""

    first: int
    last: int
    registers: int
    array: bool


def estimate(kernel: Kernel) -> int:
    """32-bit registers for what is needed at once: variables, and register arrays."""
    return FIXED + most(lives(kernel))


def check_registers(kernel: Kernel, threads: int) -> None:
    """`ResourceOveruse` if the register arrays alone need more than a block of `threads` may have.

    Variables do not count here: compilers compute them anew where they must.
    """
    if kernel.kind is not KernelKind.CUDA:
        return
    given = bound(threads, max(kernel.launch.min_blocks, 1))
    given = max([given, *(int(s.options[0]) for s in changes(kernel))])
    arrays = [life for life in lives(kernel) if life.array]
    needed = most(arrays)
    if needed <= given:
        return
    raise ResourceOveruse(
        f"kernel {kernel.name}: its register arrays need {needed} registers of each thread; with "
        f"{threads} threads in a block and {max(kernel.launch.min_blocks, 1)} blocks on a "
        f"multiprocessor there are {given}",
        place=largest(kernel),
        help="spread the tile over more threads, or make it smaller",
    )


def check_dynamic(kernel: Kernel) -> None:
    """`ResourceOveruse` if the dynamic shared memory alone is more than a block may have."""
    held, most_bytes = kernel.launch.shared_bytes, DEVICE.max_shared_bytes_per_block
    if held > most_bytes:
        raise ResourceOveruse(
            f"kernel {kernel.name}: a block asks for {held} bytes of shared memory; it may have at "
            f"most {most_bytes}",
            place=kernel.place,
            help="make the tiles smaller, or use fewer stages",
        )


def changes(kernel: Kernel) -> list[Invoke]:
    """Where warps take more registers, or give some away."""
    return [s for s in find(kernel.body, Invoke) if s.name.startswith("setmaxnreg") and s.options]


def bound(threads: int, blocks: int) -> int:
    """The registers that each thread may have."""
    warps = -(-threads // DEVICE.warp_size) * blocks
    each = DEVICE.registers_per_sm // (warps * DEVICE.warp_size) // STEP * STEP
    return min(each, DEVICE.max_registers_per_thread)


def largest(kernel: Kernel) -> Place | None:
    """Where the largest register array is declared."""
    found = [s for s in find(kernel.body, Declare) if is_registers(s.var)]
    return max(found, key=lambda s: registers(s.var)).place if found else kernel.place


def most(found: list[Life]) -> int:
    """The most registers that are needed at any statement."""
    change: dict[int, int] = {}
    for life in found:
        change[life.first] = change.get(life.first, 0) + life.registers
        change[life.last + 1] = change.get(life.last + 1, 0) - life.registers
    now = highest = 0
    for _, delta in sorted(change.items()):
        now += delta
        highest = max(highest, now)
    return highest


def lives(kernel: Kernel) -> list[Life]:
    """The lives of all variables of a kernel."""
    ranges = LiveRanges()
    ranges.body(kernel.body)
    return list(ranges.lives.values())


class LiveRanges:
    """Numbers the statements of a kernel, and notes where each variable is used."""

    def __init__(self) -> None:
        self.now = 0
        self.lives: dict[Node, Life] = {}

    def body(self, body: Body) -> None:
        """Statements in order."""
        for s in body:
            self.now += 1
            self.stmt(s)

    def stmt(self, s: Stmt) -> None:
        """One statement, and those in it."""
        match s:
            case For(var, extent, inner):
                self.begin(var)
                self.loop([var, extent], inner)
            case ForTasks(names, _, worker, inner):
                for name in names:
                    self.begin(name)
                self.loop([*names, worker], inner)
            case While(condition, inner):
                self.loop([condition], inner)
            case If(condition, then, otherwise):
                self.use([condition])
                self.body(then)
                self.body(otherwise)
            case Declare(var, init):
                self.use([] if init is None else [init])
                self.begin(var)
            case _:
                self.use(list(s.children()))

    def loop(self, heads: list[Expr], body: Body) -> None:
        """A loop: what is used in it and made outside of it is needed to its end."""
        outside = set(self.lives)
        start = self.now
        self.use(list(heads))
        self.body(body)
        for var, life in self.lives.items():
            if var in outside and life.last >= start:
                life.last = self.now

    def begin(self, var: Var) -> None:
        """A variable comes into being."""
        self.lives[var] = Life(self.now, self.now, registers(var), is_registers(var))

    def use(self, nodes: list[Node]) -> None:
        """Variables are needed until here."""
        for node in nodes:
            for var in node.mentioned():
                if var in self.lives:
                    self.lives[var].last = self.now


def is_registers(var: Var) -> bool:
    """Whether it is an array in registers."""
    return isinstance(var.of, TensorType) and var.of.scope is Scope.REGISTER


def registers(var: Var) -> int:
    """32-bit registers that a variable takes."""
    match var.of:
        case DType() as of:
            return max(1, of.bits // 32)
        case VectorType() as of:
            return max(1, of.nbytes // 4)
        case PointerType():
            return 2
        case TensorType(scope=Scope.REGISTER) as of:
            return max(1, elements(of) * of.dtype.bits // 32)
    return 0


def elements(of: TensorType) -> int:
    """The elements of a register array that each thread holds."""
    if of.layout is not None and hasattr(of.layout, "loops"):
        return prod(of.layout.loops(0).extents)
    found = 1
    for size in of.shape:
        number = size.value if isinstance(size, Const) else size
        if not isinstance(number, int):
            raise BadKernel(f"a register array has constant sizes, not {of.shape}")
        found *= number
    return found
