"""Kernels, and modules of kernels that are launched one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import StrEnum

from hidet.errors import InternalError, Place
from hidet.ir.expr import Const, Expr, Var
from hidet.ir.node import Node, node
from hidet.ir.stmt import Body, Stmt
from hidet.types import TensorMapType, i32


class KernelKind(StrEnum):
    """Where a kernel runs."""

    CUDA = "cuda"
    CPU = "cpu"


class PdlTrigger(StrEnum):
    """When a kernel lets the next one begin, where launches may begin early at all. `ONLY_TILE`: as
    `READ` if each block has one tile, else as `END`, where only a call tells how many there are."""

    START = "start"
    READ = "read"
    ONLY_TILE = "only tile"
    END = "end"


ONE = Const(1, i32)


@node
class Launch(Node):
    """How many threads run a CUDA kernel; sizes may be expressions over the kernel's parameters."""

    grid: tuple[Expr, Expr, Expr] = (ONE, ONE, ONE)
    block: tuple[Expr, Expr, Expr] = (ONE, ONE, ONE)
    cluster: tuple[int, int, int] = (1, 1, 1)
    shared_bytes: int = 0
    """Dynamic shared memory of a block, in bytes."""
    min_blocks: int = 0
    """Blocks that should fit one multiprocessor; 0 leaves it to the compiler."""
    max_blocks: int = 0
    """Blocks that a multiprocessor holds at once at most; 0: as many as fit."""
    pdl_trigger: PdlTrigger = PdlTrigger.READ
    """When the next kernel may begin; if not once all is read, these blocks may lie unevenly."""


@node
class TensorMap(Node):
    """What a kernel knows a tensor by that the copy engine moves boxes of; the host makes it.

    `tensor` is a parameter of the kernel; `shape` are its sizes, `strides` the elements between
    neighbours along each axis but the last: expressions over what the launch knows.
    """

    var: Var
    tensor: Var
    shape: tuple[Expr, ...]
    strides: tuple[Expr, ...]

    @property
    def of(self) -> TensorMapType:
        """Which boxes are moved, in what form."""
        assert isinstance(self.var.of, TensorMapType)
        return self.var.of


@node
class Kernel(Node):
    """A function that many threads run (CUDA) or one thread starts (CPU).

    `params` are tensors, pointers and scalars; sizes that appear in their shapes as symbols are
    parameters too, after them, once passes/launch_configuration has run. `maps` are handed over
    after all of these, by the host, which makes them of the tensors that it passes.
    """

    name: str
    params: tuple[Var, ...]
    body: Body
    kind: KernelKind = KernelKind.CUDA
    launch: Launch = Launch()
    place: Place | None = None
    maps: tuple[TensorMap, ...] = ()
    places: tuple[Place, ...] = ()
    """Where each parameter is written."""
    once: tuple[Var, ...] = ()
    """Parameters of which each element is loaded once: no cache near a multiprocessor keeps it."""
    lasting: tuple[Var, ...] = ()
    """Parameters that the L2 cache gives up last: results leave it for memory before them."""
    early: tuple[Var, ...] = ()
    """Parameters whose loads never move past a barrier."""
    ahead: tuple[Var, ...] = ()
    """Parameters that may be read ahead of the wait for the kernels before, such as weights: it may
    begin early only behind one that does not write them."""

    @property
    def hints(self) -> tuple[tuple[Var, ...], ...]:
        """What is said of how parameters are read."""
        return self.once, self.lasting, self.early, self.ahead

    def hinting(self, change: Callable[[tuple[Var, ...]], Iterable[Var]]) -> Kernel:
        """The same kernel, where `change` gives each of these anew."""
        once, lasting, early, ahead = (tuple(change(each)) for each in self.hints)
        return replace(self, once=once, lasting=lasting, early=early, ahead=ahead)


@node
class Call(Stmt):
    """One launch: `args` are the module's tensors (parameters or workspaces), or numbers."""

    kernel: str
    args: tuple[Expr, ...]
    place: Place | None = None


@node
class Module(Node):
    """Kernels that together compute something, and what the host does to launch them.

    `params` are what the caller passes, inputs first, then outputs; `workspaces` are global
    tensors that live during the launches. `body` are launches, and statements about numbers around
    them: which kernels run, and how often, depends on sizes and numbers, never on what tensors
    hold (see ir/host.py).
    """

    name: str
    params: tuple[Var, ...]
    kernels: tuple[Kernel, ...]
    body: Body
    workspaces: tuple[Var, ...] = ()
    places: tuple[Place, ...] = ()
    """Where each parameter is written."""
    place: Place | None = None

    @property
    def calls(self) -> tuple[Call, ...]:
        """The launches of a module that does nothing else, as schedules make them."""
        if not all(isinstance(each, Call) for each in self.body):
            raise InternalError(f"what {self.name} launches depends on numbers")
        return tuple(each for each in self.body if isinstance(each, Call))

    def kernel(self, name: str) -> Kernel:
        """The kernel of that name; KeyError if there is none."""
        return {kernel.name: kernel for kernel in self.kernels}[name]


def single(kernel: Kernel) -> Module:
    """A module that launches one kernel on its own parameters."""
    call = Call(kernel.name, kernel.params, kernel.place)
    return Module(kernel.name, kernel.params, (kernel,), (call,), (), kernel.places, kernel.place)
