"""Compilers for generated text, as fixtures."""

import ctypes
import subprocess
from dataclasses import replace
from math import nan

import numpy as np
import pytest
from cuda.bindings import nvrtc

from hidet.codegen.cpu import FLAGS
from hidet.ir.expr import (
    Add,
    BitAnd,
    BitNot,
    BitOr,
    BitXor,
    Cast,
    Const,
    Div,
    Equal,
    FloorDiv,
    FloorMod,
    Less,
    LessEqual,
    Load,
    Maximum,
    Minimum,
    Mul,
    Negate,
    NotEqual,
    ShiftLeft,
    ShiftRight,
    Sub,
    TruncDiv,
    TruncMod,
    Var,
)
from hidet.ir.functions import FUNCTIONS, call
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import For, Store
from hidet.passes.arithmetic.narrow_casts import IN_HARDWARE
from hidet.toolchain import compile_cpp as compile_cpp_source
from hidet.toolchain.host import COMMON, compiler
from hidet.toolchain.nvrtc import headers, read
from hidet.types import (
    DTYPES,
    PointerType,
    bf16,
    boolean,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from hidet.types.narrow import NARROW

FLOATS = (f64, f32, f16, bf16)
INTEGERS = (i8, i16, i32, i64, u8, u16, u32, u64)
ARITHMETIC = (Add, Sub, Mul, Minimum, Maximum)
COMPARISONS = (Less, LessEqual, Equal, NotEqual)
DIVISIONS = (FloorDiv, FloorMod, TruncDiv, TruncMod)
BITS = (BitAnd, BitOr, BitXor)


def elementwise(name, operands, result, compute):
    """A CPU kernel that applies `compute` to each element of its operands."""
    inputs = [Var(f"x{k}", PointerType(of)) for k, of in enumerate(operands)]
    y, n, i = Var("y", PointerType(result)), Var("n", i32), Var("i", i32)
    value = compute(*(Load(x, (i,)) for x in inputs))
    body = (For(i, n, (Store(y, (i,), value),)),)
    return Kernel(name, (*inputs, y, n), body, KernelKind.CPU)


def limits(of):
    """Extremes of which one operand is a number."""
    low, high, unknown = (Const(value, of) for value in (0.0, 6.0, nan))
    yield elementwise(f"clamp_{of}", (of,), of, lambda x: Minimum(Maximum(x, low), high))
    yield elementwise(f"at_nan_{of}", (of,), of, lambda x: Minimum(x, unknown))


def kernels(kind):
    yield from (*limits(f32), *limits(f64))
    native = IN_HARDWARE if kind is KernelKind.CUDA else frozenset()
    for of in (*FLOATS, *INTEGERS):
        for kind in (*ARITHMETIC, *DIVISIONS, *((Div,) if of.is_float else BITS)):
            yield elementwise(f"{kind.__name__}_{of}", (of, of), of, kind)
        for kind in COMPARISONS:
            yield elementwise(f"{kind.__name__}_{of}", (of, of), boolean, kind)
        yield elementwise(f"Negate_{of}", (of,), of, Negate)
        if of.is_integer:
            yield elementwise(f"BitNot_{of}", (of,), of, BitNot)
            yield elementwise(f"abs_{of}", (of,), of, lambda x: call("abs", x))
            three = Const(3, of)
            yield elementwise(f"left_{of}", (of,), of, lambda x, b=three: ShiftLeft(x, b))
            yield elementwise(f"right_{of}", (of,), of, lambda x, b=three: ShiftRight(x, b))
            for kind in DIVISIONS:
                low = lambda x, of=of: BitAnd(x, Const(7, of))  # never negative, at times 0
                both = lambda x, y, k=kind, low=low: k(low(x), low(y))
                yield elementwise(f"{kind.__name__}_low_{of}", (of, of), of, both)
                for by in (7, 8):
                    divide = lambda x, k=kind, by=by, of=of: k(x, Const(by, of))
                    yield elementwise(f"{kind.__name__}{by}_{of}", (of,), of, divide)
    for source in DTYPES:
        for to in DTYPES:
            if source is not to and not {source, to} & (NARROW - native):
                yield elementwise(f"{source}_to_{to}", (source,), to, lambda x, to=to: Cast(x, to))
    for function in FUNCTIONS.values():
        for of in FLOATS:
            operands = (of,) * function.arity
            compute = lambda *x, f=function: call(f.name, *x)
            yield elementwise(f"{function.name}_{of}", operands, function.result or of, compute)


@pytest.fixture(scope="session")
def operations():
    """A kernel for each operation and type, of the kind asked for."""
    return lambda kind: [of_kind(kind, kernel) for kernel in kernels(kind)]


def of_kind(kind, kernel):
    """For a GPU at one index, a parameter: loops are unrolled, and compile for much longer."""
    if kind is KernelKind.CPU:
        return kernel
    (loop,) = kernel.body
    return replace(kernel, kind=kind, params=(*kernel.params[:-1], loop.var), body=loop.body)


class Library:
    """Compiled CPU kernels; calls take numpy arrays and numbers."""

    def __init__(self, path):
        self._library = ctypes.CDLL(str(path))

    def __call__(self, name, *args):
        given = [
            ctypes.c_void_p(arg.ctypes.data) if isinstance(arg, np.ndarray) else ctypes.c_int(arg)
            for arg in args
        ]
        getattr(self._library, name)(*given)


@pytest.fixture(scope="session")
def compile_cpp(tmp_path_factory):
    def build(text, *flags):
        library = tmp_path_factory.mktemp("cpp") / "kernels.so"
        library.write_bytes(compile_cpp_source(text, flags=(*FLAGS, *flags)))
        return Library(library)

    return build


@pytest.fixture
def check_vectors(tmp_path):
    """A check that GCC makes vectors of all loops of a text, of which there are so many."""

    def check(text, count):
        source = tmp_path / "kernels.cpp"
        source.write_text(text)
        command = [*compiler(), *FLAGS, *COMMON, "-mavx2", "-mfma", "-fopt-info-vec"]
        done = subprocess.run([*command, "-c", str(source), "-o", str(tmp_path / "o")],
                              capture_output=True, text=True, check=True)  # fmt: skip
        notes = done.stderr.splitlines()
        lines = {note.split(":")[1] for note in notes if "loop vectorized" in note}
        numbered = enumerate(text.splitlines(), 1)
        loops = [str(number + 1) for number, line in numbered if "for (int i = 0; i < n;" in line]
        assert len(loops) == count
        assert set(loops) <= lines

    return check


@pytest.fixture(scope="session")
def compile_cuda():
    """Source to PTX and machine code; gives the PTX, which tests can read."""

    def build(text):
        _, program = nvrtc.nvrtcCreateProgram(text.encode(), b"kernels.cu", 0, [], [])
        options = [b"--std=c++17", b"--gpu-architecture=sm_90a"]
        options += [f"-I{folder}".encode() for folder in headers()]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        log = read(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
        assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode() + text
        ptx = read(program, nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX)
        nvrtc.nvrtcDestroyProgram(program)
        return ptx.decode()

    return build
