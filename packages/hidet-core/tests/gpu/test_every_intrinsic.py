"""Every intrinsic has a kernel that gives the same bits in the simulator and on a GPU.

The kernels are the corrected twins of the catalogue, those of `test_clusters`, and a few more
(`intrinsic_examples`). Sums of products in them are exact; `test_matrix_instructions` compares
others with float64. An intrinsic that none of them calls fails here: give it an example.
"""

import sys
from functools import cache

import numpy as np
import pytest
from catalogue import CASES

from hidet.driver import build_ir_module
from hidet.intrinsics import INTRINSICS
from hidet.ir.stmt import Invoke
from hidet.ir.walk import find
from hidet.runtime.binding.memory import array_of, to_device

from . import test_clusters as clusters
from .intrinsic_examples import EXAMPLES, numbers

I32, F32 = numbers(2, 64), numbers(2, 64, of=np.float32)
CLUSTERS = [
    (clusters.meeting, (I32, I32 * 0)),
    (clusters.stored, (numbers(2, 3, 64, of=np.float32), np.zeros((2, 3, 64), np.float32))),
    (clusters.copied, (F32, F32 * 0)),
    (clusters.pieces(True), (numbers(6, 64), numbers(6, 64) * 0)),
    (clusters.reduced(clusters.i32, "xor"), (numbers(4, 64), numbers(64))),
    (clusters.multicast, (numbers(5, 64, of=np.float32), np.zeros((2, 5, 64), np.float32))),
    (clusters.sent("copy"), (I32, I32 * 0)),
    (clusters.sent("add"), (I32, I32 * 0)),
]


@cache
def examples():
    """For each intrinsic the module and the arguments of a kernel that calls it, as few as do."""
    found = {}
    given = [(function.ir_module(), arrays) for function, arrays in (*CLUSTERS, *EXAMPLES)]
    for module, arrays in (*given, *((case.module(True), case.arrays()) for case in CASES)):
        for kernel in module.kernels:
            for call in find(kernel.body, Invoke):
                found.setdefault(call.name, (module, arrays))
    return found


@cache
def simulated(name):
    """What the arrays of an example hold afterwards."""
    module, arrays = examples()[name]
    copies = [each.copy() for each in arrays]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "breakpointhook", lambda: None)
        build_ir_module(module, target="sim")(*copies)
    return copies


@cache
def on_device(module, name):
    """The same on the GPU; a module that serves several intrinsics runs once."""
    views = [to_device(each, "cuda:0") for each in examples()[name][1]]
    build_ir_module(module)(*views)
    return [array_of(view) for view in views]


@pytest.mark.parametrize("name", INTRINSICS)
def test_there_is_an_example(name):
    assert name in examples(), f"no kernel calls {name}: add one to intrinsic_examples.py"
    before = examples()[name][1]
    after = simulated(name)
    assert any((a != b).any() for a, b in zip(before, after, strict=True)), "nothing was computed"


@pytest.mark.gpu
@pytest.mark.parametrize("name", INTRINSICS)
def test_the_same_bits_on_a_gpu(name):
    module = examples()[name][0]
    for expected, found in zip(simulated(name), on_device(module, name), strict=True):
        assert expected.tobytes() == found.tobytes(), (expected, found)
