"""What generated CUDA stands on: each function brings what it needs, headers too."""

import pytest

from hidet.codegen.cuda.prelude import CONVERSIONS, prelude
from hidet.toolchain import compile_cuda


@pytest.mark.parametrize("name", CONVERSIONS)
def test_a_conversion_that_is_used_alone_compiles(name):
    # A float that is rounded to float8 and back names the conversion, and never the type.
    text = prelude({name}) + 'extern "C" __global__ void nothing() {}\n'
    assert compile_cuda(text, arch="sm_90a").cubin
