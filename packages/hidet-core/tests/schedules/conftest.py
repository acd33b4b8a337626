"""Scheduled operators, compiled for this machine or simulated, and compared with references."""

import ctypes
import subprocess
from dataclasses import replace

import numpy as np
import pytest

from hidet.codegen import cpu
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Var
from hidet.passes.pipeline import lower
from hidet.toolchain.host import NO_MMX
from hidet.types import PointerType

FLAGS = ["-O1", "-march=native", *NO_MMX, "-shared", "-fPIC", *cpu.FLAGS]


class Compiled:
    """Modules of CPU kernels as one library, compiled with further flags."""

    def __init__(self, modules, path, *flags):
        self.modules = modules
        self.kernels = {}
        for number, module in enumerate(modules):
            for kernel in module.kernels:
                name = f"{kernel.name}_{number}"
                self.kernels[number, kernel.name] = replace(lower(kernel), name=name)
        (path / "kernels.cpp").write_text(cpu.emit(list(self.kernels.values())))
        command = ["g++", *FLAGS, *flags, str(path / "kernels.cpp"), "-o", str(path / "kernels.so")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:3000]
        self.library = ctypes.CDLL(str(path / "kernels.so"))

    def __call__(self, number, *arrays, **sizes):
        module = self.modules[number]
        bound = dict(zip(module.params, arrays, strict=True))
        for workspace in module.workspaces:
            shape = [number_of(size, sizes) for size in workspace.of.shape]
            bound[workspace] = np.full(shape, 99, workspace.of.dtype.numpy)
        for call in module.calls:
            kernel = self.kernels[number, call.kernel]
            values = [bound[arg].ctypes.data_as(ctypes.c_void_p) for arg in call.args]
            extra = [p for p in kernel.params if not isinstance(p.of, PointerType)]
            values += [ctypes.c_int(sizes[p.name]) for p in extra]
            getattr(self.library, kernel.name)(*values)


def number_of(size, sizes):
    """A size of a workspace as a number."""
    if isinstance(size, int):
        return size
    symbols = {v: sizes[v.name] for v in symbols_of(size)}
    return int(evaluate(size, symbols))


def symbols_of(size):
    """The symbols of a size."""
    if isinstance(size, Var):
        return [size]
    return [v for child in size.children() for v in symbols_of(child)]


@pytest.fixture(scope="session")
def compile_modules(tmp_path_factory):
    def compiled(modules, *flags):
        return Compiled(modules, tmp_path_factory.mktemp("schedules"), *flags)

    return compiled


@pytest.fixture(scope="session")
def check():
    return near


def near(op, arrays, found):
    """`found` is the result of `op` on `arrays`, as near as its definition has to be."""
    wide = [np.asarray(each, np.float64) for each in arrays]
    expected = op.reference(*op.arrange(wide))
    magnitude = op.reference(*op.arrange([np.abs(each) for each in wide]))
    eps = {2: 2.0**-7 if op.results()[0].dtype.short == "bf16" else 2.0**-10, 4: 2.0**-23}
    unit = eps.get(found.dtype.itemsize, 2.0**-52)
    close = np.abs(found.astype(np.float64) - expected) <= op.factor * unit * (magnitude + 1e-30)
    assert close.all(), f"{op}: {np.argwhere(~close)[:5].tolist()} of {found.shape}"
