"""Script functions in the simulator, through NVRTC, and on a device where there is one."""

from dataclasses import replace

import numpy as np
import pytest

from hidet.build.module import build_module
from hidet.codegen.cuda import emit
from hidet.passes.pipeline import lower
from hidet.runtime.binding.memory import array_of, to_device
from hidet.sim import launch
from hidet.toolchain import compile_cuda


@pytest.fixture(params=["simulated", pytest.param("device", marks=pytest.mark.gpu)])
def run(request):
    """Run a script function; the arrays afterwards, the same bits wherever it runs.

    In the simulator it runs as written and lowered, and its text is compiled for sm_90a, with
    those of the same test together. `compare` brings results to a form that does not depend on the
    order of threads.
    """
    lowered = []

    def both(function, *arrays, compare=lambda *found: found):
        simulated = [each.copy() for each in arrays]
        launch(function, *simulated)
        expected = compare(*simulated)
        if request.param == "device":
            given = [to_device(each, "cuda:0") for each in arrays]
            build_module(function.ir_module())(*given)
            same_bits(compare(*map(array_of, given)), expected)
        else:
            lowered.append(replace(lower(function.kernel), name=f"kernel{len(lowered)}"))
            again = [each.copy() for each in arrays]
            launch(lowered[-1], *again)
            same_bits(compare(*again), expected)
        return expected

    yield both
    if lowered:
        compile_cuda(emit(lowered), arch="sm_90a", name="kernels")


def same_bits(found, expected):
    """Fail unless all arrays are equal, bit for bit."""
    for a, b in zip(found, expected, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.dtype == b.dtype
        assert a.tobytes() == b.tobytes(), (a, b)
