"""setmaxnreg: its text, and numbers it does not take."""

import pytest

from hidet.codegen.cuda import emit
from hidet.errors import BadKernel
from hidet.intrinsics import INTRINSICS
from hidet.ir.stmt import Invoke
from hidet.lang import attr, f32, script
from hidet.lang.cuda import setmaxnreg_dec, setmaxnreg_inc, threadIdx
from hidet.passes.pipeline import lower
from hidet.toolchain import compile_cuda


def test_text_compiles_and_is_not_ignored():
    @script
    def roles(y: f32[256]) -> None:
        attr.cuda_block_dim = 256
        attr.cuda_min_blocks = 1
        if threadIdx.x < 128:
            setmaxnreg_dec(40)
            y[threadIdx.x] = 1.0
        else:
            setmaxnreg_inc(232)
            y[threadIdx.x] = 2.0

    text = emit([lower(roles.kernel)])
    assert "setmaxnreg.dec.sync.aligned.u32 40;" in text
    assert "setmaxnreg.inc.sync.aligned.u32 232;" in text
    assert compile_cuda(text, arch="sm_90a").doubts == []


@pytest.mark.parametrize("count", [16, 23, 100, 264, "many"])
def test_numbers_it_does_not_take(count):
    with pytest.raises(BadKernel, match="a multiple of 8 from 24 to 256"):
        INTRINSICS["setmaxnreg_inc"].check(Invoke("setmaxnreg_inc", (), (), (count,)))
