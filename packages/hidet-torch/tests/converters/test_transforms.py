"""Transforms of `torch.func` inside of what is compiled, and of what was compiled."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from compiling import close, compiled
from torch import nn
from torch.nn import functional as F

import hidet_torch
from hidet_torch.converters.whole import LINEAR, kept_whole

torch.manual_seed(0)
layer = nn.Sequential(nn.Linear(8, 6), nn.RMSNorm(6)).requires_grad_(False).eval()
x, tangent = torch.randn(5, 8), torch.randn(5, 8)


def attend(rows: torch.Tensor) -> torch.Tensor:
    """Attention of rows among themselves."""
    heads = rows[None]
    return F.scaled_dot_product_attention(heads, heads, heads)[0]


def energy(function: Callable[..., Any]) -> Callable[..., Any]:
    """One number of what a function gives; sums of squares of normalised rows do not change."""
    return lambda each: function(each).exp().sum()


TRANSFORMED: dict[str, Callable[..., Any]] = {
    "grad of layers": lambda x: torch.func.grad(energy(layer))(x),
    "grad of attention": lambda x: torch.func.grad(energy(attend))(x),
    "jvp of layers": lambda x: torch.func.jvp(layer, (x,), (tangent,))[1],
    "jacobian": lambda x: torch.func.jacrev(layer)(x[0]),
    "vmap of layers": lambda x: torch.func.vmap(lambda row: layer(row))(x),
    "vmap of attention": lambda x: torch.func.vmap(attend)(torch.stack([x, x + 1, x * 2])),
    "vmap of weights": lambda x: torch.func.vmap(F.linear, (None, 0))(x, torch.stack([x, x + 1])),
    "a gradient for each row": lambda x: torch.func.vmap(torch.func.grad(energy(layer)))(x),
    "hessian": lambda x: torch.func.hessian(energy(layer))(x[0]),
}
"""What has another result, none, or one by many kernels, where a layer is an opaque operator."""


@pytest.mark.parametrize("name", TRANSFORMED)
@torch.no_grad()
def test_transforms_inside_give_what_eager_gives(name: str) -> None:
    function = TRANSFORMED[name]
    expected = function(x)
    assert expected.abs().max() > 1e-3
    close(compiled(function)(x), expected)


def test_grad_inside_is_right_where_gradients_are_on() -> None:
    function = TRANSFORMED["grad of layers"]
    close(compiled(function)(x), function(x))


@torch.no_grad()
def test_vmap_of_a_layer_is_one_matmul() -> None:
    many = torch.randn(256, 8)
    found = str(hidet_torch.explain(TRANSFORMED["vmap of layers"], many))
    uses = re.findall(r"^(aten\S+) +(\d+)  compiled", found, re.MULTILINE)
    assert [int(times) for name, times in uses if "mm" in name] == [1], found
    assert max(int(times) for _, times in uses) < 8, found


def test_only_calls_under_a_transform_are_taken_apart() -> None:
    targets = []

    def look(graph_module: torch.fx.GraphModule, inputs: Any) -> Any:
        with kept_whole(graph_module):
            nodes = graph_module.graph.find_nodes(op="call_function", target=LINEAR)
            targets.append([str(each.args[0]) for each in nodes])
        return graph_module.forward

    mixed = lambda x: layer[0](torch.func.vmap(lambda row: layer[0](row))(x) @ torch.ones(6, 8))
    torch.compile(mixed, backend=look, fullgraph=True)(x)
    assert targets == [["matmul"]]
