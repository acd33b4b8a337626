"""Ranges of NVTX around kernels, told to a library of our own: no GPU and no NVTX are needed."""

import subprocess
from contextlib import contextmanager

import numpy as np
import pytest

import hidet
from hidet import ops, symbol, trace_from
from hidet.errors import BadArgument, Place
from hidet.graph import placed
from hidet.runtime.profiling import nvtx

STUB = """
#include <string.h>
static char said[4096];
int nvtxRangePushA(const char *name) { strcat(strcat(said, "<"), name); return 0; }
int nvtxRangePop(void) { strcat(said, ">"); return 0; }
const char *told(void) { return said; }
"""
A, B = np.ones((131, 7), np.float32), np.ones((7, 29), np.float32)


@pytest.fixture(autouse=True)
def fresh():
    nvtx.library.cache_clear()
    yield
    nvtx.library.cache_clear()


@pytest.fixture
def stub(tmp_path, monkeypatch):
    source, built = tmp_path / "stub.c", tmp_path / "stub.so"
    source.write_text(STUB)
    subprocess.check_call(["cc", "-shared", "-fPIC", "-o", built, source])
    monkeypatch.setattr(nvtx, "candidates", lambda: [str(tmp_path / "absent.so"), str(built)])
    library = nvtx.library()
    library.told.restype = nvtx.ctypes.c_char_p
    return library


def compiled():
    x, y = symbol((131, 7), name="x"), symbol((7, 29), name="y")
    with placed(Place("model.py", 5)):
        product = ops.matmul(x, y)
    with placed(Place("model.py", 6)):
        return trace_from(ops.softmax(product, 1), [x, y]).build()


def test_each_kernel_is_within_a_range_that_names_it(stub):
    call = compiled()
    with hidet.profile(ranges=True) as found:
        call(A, B)
    ranges = stub.told().decode()
    assert ranges.count("<") == ranges.count(">") == len(found.runs)
    assert ranges.endswith("><softmax [automatic] model.py:6>")
    assert "<matmul [" in ranges
    call(A, B)
    assert stub.told().decode() == ranges  # nothing is told behind the block


def test_a_range_ends_where_its_step_fails(stub):
    def fail():
        raise ZeroDivisionError

    with hidet.profile(ranges=True) as found, pytest.raises(ZeroDivisionError):
        found.run("step", fail)
    assert stub.told() == b"<step>"


def test_other_ranges_may_be_given():
    names = []

    @contextmanager
    def named(name):
        names.append(name)
        yield

    call = compiled()
    with hidet.profile(ranges=named) as found:
        call(A, B)
    assert len(names) == len(found.runs)
    assert names[-1] == "softmax [automatic] model.py:6"


def test_without_the_library_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(nvtx, "candidates", lambda: ["libabsent.so"])
    with pytest.raises(BadArgument, match="NVTX is not installed") as error, hidet.profile(True):
        pass
    assert error.value.help.startswith("pip install nvidia-nvtx")


def test_wheels_are_looked_at_first():
    assert nvtx.candidates()[-2:] == [*nvtx.FILES]
