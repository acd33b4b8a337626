"""Neighbours of 16 bits are read and written as vectors, on every instruction set here."""

import ctypes
import platform

import numpy as np
import pytest

from hidet.codegen.cpu import FLAGS, emit
from hidet.ir.expr import Cast, Load, Var, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import For, LoopKind, Store
from hidet.target import Target
from hidet.toolchain import compile_cpp, flags_for, probe_isa
from hidet.toolchain.host import COMMON, compiler, run
from hidet.types import PointerType, bf16, f16, f32, i32

ISAS = ("generic", "avx2", "avx512")
HERE = ISAS[: ISAS.index(probe_isa().partition("+")[0]) + 1]
LANES = (2, 4, 8, 16, 32)


def reading(of, lanes):
    """A kernel that reads a vector from the second element on."""
    x, y = Var("x", PointerType(of)), Var("y", PointerType(f32))
    body = (Store(y, (wrap(0),), Cast(Load(x, (wrap(1),), lanes), f32)),)
    return Kernel(f"read_{of.short}_{lanes}", (x, y), body, kind=KernelKind.CPU)


@pytest.mark.parametrize("isa", HERE)
def test_every_number_is_read_exactly(isa, tmp_path):
    flags = (*FLAGS, *flags_for(Target.parse("cpu" if isa == "generic" else f"cpu+{isa}")))
    kernels = [reading(of, lanes) for of in (f16, bf16) for lanes in LANES]
    (tmp_path / "unit.so").write_bytes(compile_cpp(emit(kernels), flags=flags))
    library = ctypes.CDLL(str(tmp_path / "unit.so"))
    for of in (f16, bf16):
        numbers = np.arange(1 << 16, dtype=np.uint16).view(of.numpy)
        for lanes in LANES:
            read, found = getattr(library, f"read_{of.short}_{lanes}"), np.empty(lanes, np.float32)
            for first in range(0, len(numbers), 32):
                x = np.concatenate([numbers[:1], numbers[first : first + lanes]])
                read(x.ctypes.data_as(ctypes.c_void_p), found.ctypes.data_as(ctypes.c_void_p))
                np.testing.assert_array_equal(found, x[1:].astype(np.float32))


@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="instructions have other names elsewhere"
)
@pytest.mark.parametrize("of", [f16, bf16], ids=str)
def test_loops_that_read_and_write_single_numbers_are_vectors(of, tmp_path):
    x, y, i = Var("x", PointerType(of)), Var("y", PointerType(of)), Var("i", i32)
    total = Cast(Load(x, (i,)), f32) + Cast(Load(y, (i,)), f32)
    loop = For(i, wrap(128), (Store(y, (i,), Cast(total, of)),), LoopKind.VECTOR)
    text = emit([Kernel("add", (x, y), (loop,), kind=KernelKind.CPU)])
    (tmp_path / "unit.cpp").write_text(text)
    flags = (*COMMON, *FLAGS, *flags_for(Target.parse("cpu+avx2")), "-S")
    files = (str(tmp_path / "unit.cpp"), "-o", str(tmp_path / "unit.s"))
    code, printed = run([*compiler(), *flags, *files], str(tmp_path))
    assert code == 0, printed
    made = (tmp_path / "unit.s").read_text()
    assert "vaddps" in made
    # One after the other numbers are added by vaddss.
    assert "vaddss" not in made
