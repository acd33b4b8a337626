"""Running kernels on numpy arrays: arguments are bound, then every block runs to its end."""

from __future__ import annotations

from math import prod
from typing import Any, Protocol, TypeAlias

import numpy as np

from hidet.errors import BadArgument, BadKernel, SimulationError
from hidet.intrinsics.boxes import Boxes
from hidet.ir import host
from hidet.ir.expr import Expr, Var
from hidet.ir.kernel import Call, Kernel, KernelKind, Module, TensorMap, single
from hidet.ir.stmt import Declare, For, ForTasks
from hidet.ir.walk import postorder, variables
from hidet.sim.arguments import Bound, around, bind, match_shape, workspace
from hidet.sim.blocks import run_blocks
from hidet.sim.estimate import check_dynamic, check_registers, estimate
from hidet.sim.interpreter.program import Program, compiled
from hidet.sim.memories import dependents
from hidet.sim.memory import Pointer
from hidet.sim.report import Report
from hidet.sim.threads.simt_group import Run
from hidet.target import MAX_CLUSTER, MAX_THREADS
from hidet.types import PointerType, Scope, TensorType
from hidet.types.tensor_map import check_tensor


def launch(
    kernel: Launchable,
    *arguments: Any,
    step_limit: int = 1_000_000,
    measure: bool = True,
    **sizes: Any,
) -> Report:
    """Run a kernel, or the kernels of a module in order, on arrays; results are in place.

    `kernel` is a script function, a script module, or their IR. `arguments` are the parameters in
    order: numpy arrays, or tensors of any library on the CPU, without gaps and of the parameter's
    element type, and numbers. Symbols in shapes are
    read off the arrays; `sizes` gives by name those that are not, and scalar parameters left out at
    the end. A name that the kernel does not mention is ignored, so that one call serves a kernel
    before and after lowering. Mistakes of the kernel are `SimulationError`s; `step_limit` bounds
    the iterations of loops. An array that is not writeable may not be written; what a kernel reads
    of an array from `hidet.sim.empty` must have been written. Without `measure` the report does not
    count accesses one by one, which is faster.

    Of several launches, one is dependent (see `hidet.sim.memories.dependents`) if its kernel waits
    for the grids before it, or the kernel before lets it begin early.
    """
    module = module_of(kernel)
    report = Report(measures=measure)
    known = bind(module.params, arguments, sizes, module.places)
    for var in module.workspaces:
        known.arrays[var] = workspace(var, known)
    programs = {each.name: compiled(each) for each in module.kernels}
    finest = min(program.granule[Scope.GLOBAL] for program in programs.values())
    try:
        with np.errstate(all="ignore"):
            run_calls(module, programs, known, report, finest, step_limit)
    except SimulationError as error:
        raise error.with_traceback(None) from None  # the kernel's mistake: our frames tell nothing
    for buffer in known.arrays.values():
        if buffer.source is not None and buffer.written is not None:
            buffer.source.note(buffer.written, buffer.granule)
    return report


class HasModule(Protocol):
    """What gives a module of kernels: a script function, a script module."""

    def ir_module(self) -> Module:
        """The module."""


Launchable: TypeAlias = Kernel | Module | HasModule


def module_of(kernel: Launchable) -> Module:
    """The module of what is to be launched."""
    if isinstance(kernel, Module):
        return kernel
    if isinstance(kernel, Kernel):
        return single(kernel)
    if not hasattr(kernel, "ir_module"):
        raise BadArgument(
            f"{type(kernel).__name__} is nothing to launch",
            help="pass a @hidet.script function, a script module, a Kernel or a Module",
        )
    return kernel.ir_module()


def run_calls(
    module: Module,
    programs: dict[str, Program],
    known: Bound,
    report: Report,
    finest: int,
    step_limit: int,
) -> None:
    """Run the launches of a module in order."""
    before: Run | None = None
    buffers = list(dict.fromkeys(known.arrays.values()))

    def launched(call: Call) -> None:
        nonlocal before
        program = programs[call.kernel]
        bound = passed(program.kernel, call.args, known)
        last = None if before is None else before.kernel
        dependents.begin(buffers, dependents.depends(program.kernel, last), before)
        mine = set(bound.arrays.values())
        for buffer in buffers:
            buffer.used = buffer in mine
            buffer.shadow = None if buffer not in mine else buffer.shadow
        before = run_kernel(program, bound, report, finest, step_limit)

    host.run(module.body, known.scalars, known.number, launched)


def run_kernel(
    program: Program, bound: Bound, report: Report, granule: int, step_limit: int
) -> Run | None:
    """Run one kernel on its arguments; None if its grid is empty."""
    kernel = program.kernel
    grid = extents(kernel.launch.grid, bound, f"the grid of {kernel.name}")
    block = extents(kernel.launch.block, bound, f"the block of {kernel.name}")
    threads = block[0] * block[1] * block[2]
    if threads > MAX_THREADS:
        raise BadKernel(f"a block of {kernel.name} has {threads} threads; {MAX_THREADS} fit one")
    cluster = kernel.launch.cluster
    check_cluster(kernel.name, grid, cluster)
    if 0 in (*grid, threads):
        return None
    check_registers(kernel, threads)
    check_dynamic(kernel)
    report.shared_bytes = max(report.shared_bytes, kernel.launch.shared_bytes)
    if kernel.kind is KernelKind.CUDA:
        report.registers[kernel.name] = estimate(kernel)
    widths = program.granule | {str(Scope.GLOBAL): granule}
    run = Run(kernel, grid, block, report, program.sites, widths, step_limit, cluster)
    env: dict[Var, Any] = {var: Pointer(b, np.int64(0)) for var, b in bound.arrays.items()}
    for each in kernel.maps:
        env[each.var] = tensor_map(each, bound)
    for var in free_scalars(kernel):
        if var not in bound.scalars:
            bound.number(var)
    env.update(bound.scalars)
    run_blocks(program, run, env)
    return run


def tensor_map(map: TensorMap, bound: Bound) -> Boxes:
    """A tensor map as the host makes it of what it passes; BadTensorMap if there is none."""
    memory, width = bound.arrays[map.tensor], map.of.dtype.nbytes
    shape = tuple(int(bound.number(size)) for size in map.shape)
    strides = tuple(int(bound.number(stride)) * width for stride in map.strides)
    check_tensor(map.of, map.tensor.name, shape, strides, memory.size)
    return Boxes(map.of, Pointer(memory, np.int64(0)), shape, strides)


def check_cluster(name: str, grid: tuple[int, ...], cluster: tuple[int, ...]) -> None:
    """`BadArgument` unless whole clusters fill the grid; `BadKernel` for too large ones."""
    if prod(cluster) > MAX_CLUSTER:
        raise BadKernel(f"a cluster of {name} has {prod(cluster)} blocks; {MAX_CLUSTER} fit one")
    if any(n % c for n, c in zip(grid, cluster, strict=True)):
        raise BadArgument(
            f"{name} is launched with a grid {grid}, which is not whole clusters {cluster}"
        )


def free_scalars(kernel: Kernel) -> list[Var]:
    """Symbols that the kernel uses but nothing in it introduces."""
    own = {*kernel.params, *(each.var for each in kernel.maps)}
    for s in postorder(kernel.body):
        match s:
            case Declare(var) | For(var):
                own.add(var)
            case ForTasks(names):
                own.update(names)
    return [var for var in variables(kernel.body) if var not in own]


def passed(kernel: Kernel, args: tuple[Expr, ...], known: Bound) -> Bound:
    """What one launch of a module gives to a kernel's parameters."""
    found = Bound(scalars=around(kernel.params, known.scalars), names=known.names)
    if len(args) != len(kernel.params):
        raise BadArgument(f"{kernel.name} has {len(kernel.params)} parameters, {len(args)} given")
    for var, arg in zip(kernel.params, args, strict=True):
        if isinstance(var.of, TensorType | PointerType):
            assert isinstance(arg, Var)
            found.arrays[var] = known.arrays[arg]
        else:
            found.scalars[var] = known.number(arg)
    for var in kernel.params:
        if isinstance(var.of, TensorType) and var in found.arrays:
            shape = found.arrays[var].shape
            if shape is not None:
                match_shape(var, var.of, shape, found)
    return found


def extents(sizes: tuple[Expr, ...], bound: Bound, what: str) -> tuple[int, int, int]:
    """A launch size as numbers."""
    x, y, z = (int(bound.number(size)) for size in sizes)
    if min(x, y, z) < 0:
        raise BadArgument(f"{what} is {(x, y, z)}")
    return x, y, z
