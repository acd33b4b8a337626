"""Kernels and modules."""

import pytest

from hidet.ir.expr import Var
from hidet.ir.kernel import Kernel, single
from hidet.types import f32


def test_a_module_finds_its_kernels_by_name():
    kernel = Kernel("k", (Var("x", f32[4]),), ())
    module = single(kernel)
    assert module.kernel("k") is kernel
    assert module.calls[0].args == kernel.params
    with pytest.raises(KeyError):
        module.kernel("other")
