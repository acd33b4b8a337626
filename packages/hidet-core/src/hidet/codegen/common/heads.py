"""Names and parameters of the functions that kernels become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from hidet.codegen.common.expressions import ExpressionWriter
from hidet.codegen.common.names import KEYWORDS, legal
from hidet.errors import InternalError
from hidet.ir.access import read_only
from hidet.ir.expr import Var
from hidet.ir.kernel import Kernel, KernelKind
from hidet.types import PointerType, TensorType


def check_heads(kernels: Sequence[Kernel], kind: KernelKind) -> None:
    """Raise unless all kernels are of `kind`, and their names identifiers, each of one kernel."""
    for kernel in kernels:
        if kernel.kind is not kind:
            raise InternalError(f"`{kernel.name}` is a {kernel.kind} kernel, not a {kind} one")
    for name, count in Counter(kernel.name for kernel in kernels).items():
        if legal(name) != name or name in KEYWORDS:
            raise InternalError(f"`{name}` is no name for a function")
        if count > 1:
            raise InternalError(f"{count} kernels of one text are called `{name}`")


def parameters(
    kernel: Kernel, expressions: ExpressionWriter, overwritten: Collection[Var]
) -> dict[Var, str]:
    """The parameters of a kernel as they are declared: arrays as pointers; promised not to change
    if only loaded.

    Of those that are `overwritten`, since a result may lie in their place, nothing is promised: on
    CUDA they would be loaded through a cache that sees no stores (`ld.global.nc`), which is
    defined only for memory that nobody writes as long as the kernel runs. Nor of those that are to
    be loaded early: compilers move loads of what does not change behind barriers.
    """
    constant = read_only(kernel).difference(overwritten, kernel.early)
    return {p: parameter(p, expressions, p in constant) for p in kernel.params}


def parameter(var: Var, expressions: ExpressionWriter, constant: bool) -> str:
    """One parameter."""
    of, name = var.of, expressions.names[var]
    if not isinstance(of, PointerType | TensorType):
        return f"{expressions.type(of)} {name}"
    element = expressions.type(of.to if isinstance(of, PointerType) else of.dtype)
    return f"const {element} *__restrict__ {name}" if constant else f"{element} *{name}"
