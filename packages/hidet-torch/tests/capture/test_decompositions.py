from __future__ import annotations

import torch
from compiling import close
from torch import nn
from torch.nn import functional

import hidet_torch
from hidet_torch.capture.decompositions import (
    converters,
    decompositions,
    exported_decompositions,
)


def test_exported_programs_are_told_of_composites_that_autograd_takes_apart_itself() -> None:
    short, long = decompositions(), exported_decompositions()
    assert short.items() <= long.items()
    only = long.keys() - short.keys()
    assert torch.ops.aten.einsum.default in only
    key = "CompositeImplicitAutograd"
    for op in only:
        by_python = any(str(each).endswith(key) for each in op.py_kernels)
        assert by_python or torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key), op


def test_no_converter_is_taken_apart_before_it_is_reached() -> None:
    assert not [each for each in exported_decompositions() if each in converters]


class Interpolated(nn.Module):
    """Pictures in other sizes, in each way that PyTorch has for it."""

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [
            functional.interpolate(x, mode=mode, **size)
            for mode in ("nearest", "bilinear", "bicubic")
            for size in ({"scale_factor": 2.0}, {"size": (3, 11)})
        ]


def test_an_exported_program_is_taken_apart_as_far_as_a_traced_one() -> None:
    x = torch.randn(1, 2, 5, 6)
    compiled = hidet_torch.compile(Interpolated(), x, fallback="error")
    for ours, theirs in zip(compiled(x), Interpolated()(x), strict=True):
        close(ours, theirs)


def test_a_table_is_the_callers() -> None:
    decompositions().clear()
    assert decompositions()
