"""Codes of narrow floats: the same functions in C++ and CUDA, which name their operand once."""

import numpy as np
import pytest

from hidet.codegen import cpu, cuda
from hidet.ir.expr import Cast, Const, Load, Math, Select, Var
from hidet.ir.functions import CODES, meaning
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Store
from hidet.passes.arithmetic.narrow_casts import narrow_casts
from hidet.types import PointerType, f8e8m0, f32, i32, u8
from hidet.types.narrow import FORMATS

FLOATS = [*FORMATS, f8e8m0]


def kernel(kind, name, value, source=f32, to=f32):
    x, y, i = Var("x", PointerType(source)), Var("y", PointerType(to)), Var("i", i32)
    return Kernel(name, (x, y, i), (Store(y, (i,), value(Load(x, (i,)))),), kind)


def test_cuda_takes_the_functions_of_every_format(compile_cuda):
    both = [
        kernel(
            KernelKind.CUDA,
            f"k_{name}",
            lambda x, name=name, of=of: Math(name, (x,), of.result),
            f32 if name.startswith("encode") else u8,
            of.result,
        )
        for name, of in CODES.items()
    ]
    assert compile_cuda(cuda.emit(both)).count(".visible .entry") == 2 * len(FLOATS)


@pytest.mark.parametrize("of", FLOATS, ids=str)
def test_chains_of_casts_load_once_even_where_a_condition_guards_them(of):
    """Conditions keep values without names, so that text which named operands twice would grow."""

    def rounded(x):
        for _ in range(8):
            x = Cast(Cast(x, of), f32)
        return Select(Var("i", i32) < 3, x, Const(0.0, f32))

    text = cpu.emit([narrow_casts(kernel(KernelKind.CPU, "k", rounded))])
    body = text[text.index('extern "C" void k') :]
    assert body.count("x[") == 1
    assert body.count(f"encode_{of}(") == body.count(f"decode_{of}(") == 8


@pytest.mark.parametrize("of", FLOATS, ids=str)
def test_what_they_mean_on_arrays(of):
    codes = np.arange(2**of.bits, dtype=np.uint8)
    values = meaning(f"decode_{of}")(codes)
    assert values.dtype == np.float32
    number = ~np.isnan(values)
    assert (meaning(f"encode_{of}")(values) == codes)[number].all()
