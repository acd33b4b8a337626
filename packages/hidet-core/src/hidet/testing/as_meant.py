"""CUDA kernels as ptxas takes them: it may do otherwise than a kernel means, and tells so."""

from __future__ import annotations

from collections.abc import Iterable

from hidet.codegen import cuda
from hidet.ir.kernel import Kernel
from hidet.toolchain import compile_cuda


def as_meant(kernels: Iterable[Kernel], arch: str = "sm_90a") -> str:
    """The text of lowered kernels, compiled; no GPU is needed.

    AssertionError if a product was serialised, a wait put in between, an instruction ignored, or a
    register spilled.
    """
    text = cuda.emit(list(kernels))
    found = compile_cuda(text, arch=arch)
    assert found.doubts == [], found.doubts
    assert all(usage.spill_bytes == 0 for usage in found.usage.values()), found.usage
    return text
