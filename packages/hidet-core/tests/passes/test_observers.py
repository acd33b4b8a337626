"""Watching passes: checked, written down, timed."""

from dataclasses import replace

import pytest

from hidet.errors import BadKernel
from hidet.ir.expr import Var
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Break
from hidet.passes.base import kernel_pass, run
from hidet.passes.launches.observers import Check, Dump, Time
from hidet.passes.pipeline import CUDA
from hidet.types import i32


@kernel_pass()
def breaks(kernel):
    return replace(kernel, body=(Break(),))


def test_check_finds_what_a_pass_broke():
    with pytest.raises(BadKernel, match="break outside of a loop"):
        run(Kernel("k", (), ()), [breaks], [Check()])


def test_dump_writes_a_file_for_each_pass(tmp_path, kernels):
    run(kernels.matmul(Var("m", i32), 8, 8), CUDA, [Dump(tmp_path / "out")])
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [f"{number:02}-{each.name}.txt" for number, each in enumerate(CUDA, 1)]
    assert (tmp_path / "out" / names[-1]).read_text().startswith("cuda kernel matmul(a: ~f32")


def test_time_is_booked_for_each_pass(kernels):
    timer = Time()
    run(kernels.matmul(8, 8, 8), CUDA, [timer])
    assert set(timer.spent) == {each.name for each in CUDA}
    assert all(seconds >= 0 for seconds in timer.spent.values())
