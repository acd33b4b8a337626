"""Composites under torch.compile: whole where that is right, taken apart where it would not be."""

from __future__ import annotations

import pytest
import torch
from compiling import close, compiled
from torch.nn import functional

from hidet_torch.converters.composites import composites, composites_kept

aten = torch.ops.aten


def graph_of(function: object) -> torch.fx.GraphModule:
    """What Dynamo hands over for a call with a matrix."""
    found: list[torch.fx.GraphModule] = []

    def look(graph_module: torch.fx.GraphModule, _: object) -> object:
        found.append(graph_module)
        return graph_module.forward

    torch.compile(function, backend=look, fullgraph=True)(torch.ones(3, 4))  # type: ignore[call-overload]
    return found[0]


def test_what_is_kept_follows_from_the_table_of_converters() -> None:
    assert {aten.square.default, aten.lstm.input, aten.rms_norm.default} <= composites().keys()
    assert aten.linear.default not in composites()


def test_pytorch_is_as_before_afterwards() -> None:
    module, before = graph_of(torch.square), dict(aten.square.default.py_kernels)
    with composites_kept(module):
        assert aten.square.default.py_kernels != before
    assert aten.square.default.py_kernels == before


@pytest.mark.parametrize("transform", [torch.func.vmap, torch.func.grad])
def test_graphs_with_transforms_keep_none(transform: object) -> None:
    inner = lambda x: x.square().sum()
    module = graph_of(lambda x: transform(inner)(x))  # type: ignore[operator]
    before = dict(aten.square.default.py_kernels)
    with composites_kept(module):
        assert aten.square.default.py_kernels == before


def composite(x: torch.Tensor) -> torch.Tensor:
    """Several of them in a row."""
    pooled = functional.adaptive_avg_pool1d(x.square().tile(2, 1)[None], 2)
    return torch.where(x.isfinite().all(), pooled.softmax(-1), 0.0)


@torch.no_grad()
def test_they_compute_what_eager_does() -> None:
    x = torch.randn(3, 4)
    close(compiled(composite, options={"fallback": "error"})(x), composite(x))


def test_gradients_are_right_where_they_are_forgotten() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    (found,) = torch.autograd.grad(compiled(composite)(x).square().sum(), x)
    (expected,) = torch.autograd.grad(composite(x).square().sum(), x)
    close(found, expected)


@torch.no_grad()
def test_an_lstm_is_a_loop_under_torch_compile_too() -> None:
    layer = torch.nn.LSTM(5, 7, num_layers=2, bidirectional=True).eval()
    x = torch.randn(6, 2, 5)
    with torch._dynamo.config.patch(allow_rnn=True):
        found = compiled(layer, options={"fallback": "error"})(x)
    for ours, theirs in zip((found[0], *found[1]), (layer(x)[0], *layer(x)[1]), strict=True):
        close(ours, theirs)
