import ctypes

import numpy as np
import pytest

from hidet.errors import BadArchive
from hidet.runtime import Archive, Executor, View
from hidet.runtime.devices.launchable import HostModule
from hidet.runtime.team import OnTeam
from hidet.toolchain import compile_cpp

from .conftest import diamond


def test_functions_take_pointers_and_numbers(cpp):
    x, y = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    shift = HostModule(cpp).function("shift")
    pointers = [ctypes.c_void_p(each.ctypes.data) for each in (x, y)]
    shift(*pointers, ctypes.c_int32(-7), ctypes.c_int64(4))
    assert y.tolist() == [-7, -6, -5, -4, 0]


def test_a_call_without_loops_for_the_team_does_not_ask_for_it(cpp):
    assert not HostModule(cpp).has_loops
    x = np.ones(4, np.float32)
    executor = Executor(Archive({"main": diamond()}, {"unit": cpp}))
    view = View(x.ctypes.data, x.shape, "float32", "cpu", x)
    assert not isinstance(executor.program([view]).on_team, OnTeam)
    loops = 'extern "C" { void (*hidet_parallel)() = nullptr; }'
    assert HostModule(compile_cpp(loops)).has_loops


def test_loading_leaves_no_file(cpp, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    HostModule(cpp)
    with pytest.raises(BadArchive, match="binary broken cannot be loaded"):
        HostModule(b"not really code", "broken")
    assert list(tmp_path.iterdir()) == []


def test_two_modules_may_have_functions_of_one_name(cpp):
    first, second = HostModule(cpp), HostModule(cpp)
    a, b = (ctypes.cast(each.function("twice"), ctypes.c_void_p).value for each in (first, second))
    assert a != b
