"""Kernels in translation units."""

import pytest

from hidet.build.workers.units import Units
from hidet.ir.expr import Builtin, Const, Var
from hidet.ir.kernel import ONE, Kernel, KernelKind, Launch
from hidet.ir.stmt import For, LoopKind, Store
from hidet.options import options
from hidet.runtime.team import TEAM
from hidet.target import Target
from hidet.types import PointerType, f32, i32

Y = Var("y", PointerType(f32))
WHERE = {
    "cuda": ("sm_90a", KernelKind.CUDA, Builtin("threadIdx.x")),
    "cpu": ("cpu", KernelKind.CPU, Const(0, i32)),
}


def units(kind, names, value=1.0):
    target, form, index = WHERE[kind]
    made = Units(Target.parse(target))
    for name in names:
        body = (Store(Y, (index,), Const(value, f32)),)
        made.add(Kernel(name, (Y,), body, form, Launch((ONE, ONE, ONE), (ONE, ONE, ONE))))
    return made


def test_a_name_is_compiled_once():
    assert len(units("cuda", ["a", "b", "a"]).grouped()) == 2


def test_on_cuda_each_kernel_is_a_unit():
    found = units("cuda", ["c", "a", "b"]).grouped()
    assert [[k.name for k in unit] for unit in found] == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize(
    ("jobs", "count", "expected"), [(1, 9, 1), (4, 9, 2), (4, 3, 1), (2, 40, 2)]
)
def test_on_the_cpu_units_keep_the_compilers_busy(jobs, count, expected):
    with options(jobs=jobs):
        found = units("cpu", [f"k{i}" for i in range(count)]).grouped()
    assert len(found) == expected
    assert sorted(k.name for unit in found for k in unit) == sorted(f"k{i}" for i in range(count))


def test_functions_that_are_together_have_a_unit_and_one_of_several_is_in_each():
    made = units("cpu", ["a", "b", "pack", "z"])
    f = made.functions
    found = made.apart([[f["b"], f["pack"]], [f["a"], f["pack"]], [f["pack"], f["b"]], []])
    assert [[k.name for k in unit] for unit in found] == [["b", "pack"], ["a", "pack"], ["z"]]
    gpu = units("cuda", ["b", "a"])
    assert [len(unit) for unit in gpu.apart([list(gpu.functions.values())])] == [1, 1]


@pytest.mark.parametrize("kind", WHERE)
def test_every_kernel_has_a_home_and_a_second_build_comes_from_the_cache(
    kind, tmp_path, monkeypatch
):
    with options(cache_dir=str(tmp_path), progress=False):
        binaries, home = units(kind, ["a", "b"]).compile("test")
        assert set(home) == {"a", "b"}
        assert set(home.values()) == set(binaries)
        monkeypatch.setattr(Units, "compiled", lambda *_: pytest.fail("compiled again"))
        assert units(kind, ["b", "a"]).compile("test") == (binaries, home)


def test_another_source_is_another_entry(tmp_path):
    with options(cache_dir=str(tmp_path), progress=False):
        first, _ = units("cuda", ["a"]).compile("test")
        second, _ = units("cuda", ["a"], 2.0).compile("test")
    assert not set(first) & set(second)


def test_the_team_is_a_binary_where_a_kernel_has_loops_for_it(tmp_path):
    i = Var("i", i32)
    loop = For(i, Const(9, i32), (Store(Y, (i,), Const(1.0, f32)),), LoopKind.PARALLEL)
    made = units("cpu", ["a", "b"])
    made.add(Kernel("c", (Y,), (loop,), KernelKind.CPU))
    with options(cache_dir=str(tmp_path), progress=False):
        binaries, home = made.compile("test")
        assert set(home) == {"a", "b", "c"}
        assert set(binaries) == {*home.values(), TEAM}
        assert TEAM not in units("cpu", ["a", "b"]).compile("test")[0]
