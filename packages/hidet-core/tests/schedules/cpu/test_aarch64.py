"""Kernels as ARM machines run them: compiled for one, and run by an emulator if there is one."""

import shutil
import subprocess

import numpy as np
import pytest

from hidet.codegen import cpu
from hidet.graph import refer
from hidet.ops.products.attention import Attention
from hidet.ops.products.matmul import Linear, Matmul
from hidet.passes.pipeline import lower
from hidet.schedules.cpu.attention import Lanes, attention_rows
from hidet.schedules.cpu.matmul import MatmulRegisters, matmul_panels
from hidet.schedules.cpu.matvec import Columns, matvec
from hidet.target import Target
from hidet.types import bf16, f16, f32, i8, i32

COMPILERS = ("aarch64-linux-gnu-g++", "aarch64-linux-gnu-g++-12", "aarch64-linux-gnu-g++-13")
COMPILER = next(filter(shutil.which, COMPILERS), None)
EMULATOR = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")
PLAIN = Target.parse("cpu")

CASES = [
    (Linear(f32[33, 129], f32[70, 129], f32[70]), matmul_panels, MatmulRegisters(6, 2, False)),
    (Linear(bf16[7, 33], bf16[5, 33], None), matmul_panels, MatmulRegisters(4, 1, True)),
    (Matmul(i8[5, 19], i8[19, 7], dtype=i32), matmul_panels, MatmulRegisters(4, 2, False)),
    (Linear(f16[1, 129], f16[9, 129], None), matvec, Columns(6)),
    (Matmul(bf16[2, 7], bf16[7, 515]), matvec, Columns(4)),
    (Attention(f32[2, 33, 16], f32[2, 50, 16], f32[2, 50, 9], None, True, 0.2), attention_rows,
     Lanes(4, 2)),
]  # fmt: skip


FILES = """#include <cstdio>
#include <cstdlib>
static void *moved(const char *name, size_t size, const char *how, void *at) {
  if (!at) at = aligned_alloc(64, (size + 63) / 64 * 64);
  FILE *file = fopen(name, how);
  if ((*how == 'r' ? fread(at, 1, size, file) : fwrite(at, 1, size, file)) != size) abort();
  fclose(file);
  return at;
}
"""


def program(module, arrays):
    """A program that reads arrays from files, calls the kernels of a module, and writes them."""
    names = dict(zip(arrays, (f"a{number}" for number in range(len(arrays))), strict=True))
    lines = ["int main() {"]
    for param, name in names.items():
        lines.append(f'  void *{name} = moved("{name}", {arrays[param].nbytes}, "rb", nullptr);')
    for call in module.calls:
        lines.append(f"  {call.kernel}({', '.join(names[each] for each in call.args)});")
    for param, name in names.items():
        lines.append(f'  moved("{name}", {arrays[param].nbytes}, "wb", {name});')
    calls = {call.kernel: ", ".join(["void *"] * len(call.args)) for call in module.calls}
    heads = [f'extern "C" void {kernel}({args});' for kernel, args in calls.items()]
    return FILES + "\n".join([*heads, *lines, "}", ""])


@pytest.mark.skipif(COMPILER is None, reason="there is no compiler for ARM (g++-aarch64-linux-gnu)")
@pytest.mark.skipif(EMULATOR is None, reason="there is no emulator of ARM (qemu-user)")
@pytest.mark.parametrize("number", range(len(CASES)))
def test_results_on_arm(number, tmp_path):
    op, schedule, point = CASES[number]
    module = schedule(op, PLAIN, point).module
    inputs, result = op.examples(seed=number), op.results()[0]
    blank = [np.full(result.shape, 77, result.dtype.numpy)]
    blank += [np.full(each.of.shape, 99, each.of.dtype.numpy) for each in module.workspaces]
    arrays = dict(zip((*module.params, *module.workspaces), (*inputs, *blank), strict=True))
    for position, array in enumerate(arrays.values()):
        array.tofile(tmp_path / f"a{position}")
    (tmp_path / "kernels.cpp").write_text(cpu.emit([lower(each) for each in module.kernels]))
    (tmp_path / "main.cpp").write_text(program(module, arrays))
    flags = ["-O2", "-std=c++17", "-static", "-fopenmp-simd", "-w", *cpu.FLAGS]
    command = [COMPILER, *flags, "kernels.cpp", "main.cpp", "-o", "program"]
    for each in (command, [EMULATOR, "./program"]):
        done = subprocess.run(each, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:3000]
    found = np.fromfile(tmp_path / f"a{len(inputs)}", result.dtype.numpy).reshape(result.shape)
    (expected,) = refer(op, inputs)
    unit = {"f32": 2.0**-19, "bf16": 2.0**-7, "f16": 2.0**-10, "i32": 0}[result.dtype.short]
    assert np.abs(found - expected).max() <= unit * np.abs(expected).max()
