from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
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
from hidet_torch.converters.table import overload


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


x, picture = torch.ones(2, 3, 8), torch.ones(1, 2, 8, 8)

state = torch.zeros(1, 2, 3)


def cell(rows: int) -> list[torch.Tensor]:
    """The weights and biases of a recurrent layer of so many rows, from 8 elements to 3."""
    return [torch.ones(rows, 8), torch.ones(rows, 3), torch.ones(rows), torch.ones(rows)]


COMPOSITES: dict[str, tuple[Any, ...]] = {
    "_fused_rms_norm": (x, [8], torch.ones(8), 1e-5),
    "adaptive_avg_pool1d": (x, 2),
    "adaptive_avg_pool2d": (picture, [2, 2]),
    "adaptive_max_pool1d": (x, 2),
    "avg_pool1d": (x, 2),
    "gru.input": (x, state, cell(9), True, 1, 0.0, False, False, True),
    "isfinite": (x,),
    "linear": (x, torch.ones(4, 8)),
    "lstm.input": (x, [state, state], cell(12), True, 1, 0.0, False, False, True),
    "nonzero_numpy": (x,),
    "rms_norm": (x, [8]),
    "rnn_relu.input": (x, state, cell(3), True, 1, 0.0, False, False, True),
    "rnn_tanh.input": (x, state, cell(3), True, 1, 0.0, False, False, True),
    "scaled_dot_product_attention": (picture, picture, picture),
    "softmax.int": (x, -1),
    "square": (x,),
    "tile": (x, [2, 1, 1]),
    "true_divide.Scalar": (x, 2.0),
    "true_divide.Tensor": (x, x),
    "where.Scalar": (x > 0, 1.0, 2.0),
    "where.ScalarOther": (x > 0, x, 2.0),
    "where.ScalarSelf": (x > 0, 1.0, x),
}
"""Operators that PyTorch may take apart by itself, with arguments."""


class Calling(nn.Module):
    """Calls one operator; the arguments that are no tensors stay as they are."""

    def __init__(self, target: Any, given: Sequence[Any]) -> None:
        super().__init__()
        self.target, self.given = target, given

    def forward(self, *tensors: torch.Tensor) -> Any:
        left = iter(tensors)

        def filled(each: Any) -> Any:
            if isinstance(each, torch.Tensor):
                return next(left)
            is_tensors = isinstance(each, list) and isinstance(each[0], torch.Tensor)
            return [*map(filled, each)] if is_tensors else each

        return self.target(*map(filled, self.given))


@pytest.mark.parametrize("name", COMPOSITES)
def test_a_converter_of_a_composite_is_reached(name: str) -> None:
    target, given = overload(name), COMPOSITES[name]
    flat = [leaf for each in given for leaf in (each if isinstance(each, list) else [each])]
    tensors = tuple(each for each in flat if isinstance(each, torch.Tensor))
    program = torch.export.export(Calling(target, given), tensors)
    graph = program.run_decompositions(exported_decompositions()).graph
    assert target in {node.target for node in graph.nodes}


def test_every_converter_of_a_composite_is_tried() -> None:
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    found = {
        each
        for each in converters
        if isinstance(each, torch._ops.OpOverload) and each.has_kernel_for_dispatch_key(key)
    }
    assert found == set(map(overload, COMPOSITES))


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
