"""Blocks, threads and statements of automatic CUDA kernels."""

from __future__ import annotations

from collections.abc import Iterable

from hidet.ir.expr import Builtin, Expr, Value, Var, constant, wrap
from hidet.ir.kernel import Kernel, KernelKind, Launch
from hidet.ir.stmt import Body, If, Stmt
from hidet.lang.recorder import current
from hidet.types import i32

THREAD = Builtin("threadIdx.x")
BLOCK = Builtin("blockIdx.x")


def guarded(index: Expr, count: Value, per_block: int, body: Body) -> Body:
    """`body` where `index` is below `count`, unless whole blocks always are."""
    return body if is_multiple(count, per_block) else (If(index < count, body),)


def is_multiple(count: Value, each: int) -> bool:
    """Whether `count` is known to be a multiple of `each`."""
    return isinstance(count, int) and (count == 0 or (each > 0 and count % each == 0))


def kernel(
    name: str, params: tuple[Var, ...], body: Body, blocks: Value, threads: int, min_blocks: int = 0
) -> Kernel:
    """A kernel of `blocks` blocks in one row; `resident` of them should fit a multiprocessor."""
    one = constant(1, i32)
    launch = Launch(
        (wrap(blocks), one, one), (constant(threads, i32), one, one), min_blocks=min_blocks
    )
    return Kernel(name, params, body, KernelKind.CUDA, launch)


def write(statements: Iterable[Stmt]) -> None:
    """Add statements to the script that is being transcribed."""
    recorder = current("a statement")
    for each in statements:
        recorder.emit(each)
