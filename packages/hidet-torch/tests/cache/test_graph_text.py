"""Graphs as text: the same for the same computation, another for every other, none for what others
bring along."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from hidet_torch.cache.graph_text import NoText, function_name, graph_text

X = torch.zeros(2, 4, 8, 8)


def traced(function: Callable[..., Any], *inputs: torch.Tensor) -> torch.fx.Graph:
    """The graph that Dynamo hands over."""
    found: list[torch.fx.Graph] = []

    def backend(module: torch.fx.GraphModule, _: Any) -> Any:
        found.append(module.graph)
        return module

    torch._dynamo.reset()
    torch.compile(function, backend=backend, fullgraph=True)(*(inputs or (X,)))
    return found[0]


def text(function: Callable[..., Any], *inputs: torch.Tensor) -> str:
    return "\n".join(graph_text(traced(function, *inputs)))


FUNCTIONS: list[Callable[..., Any]] = [
    lambda x: x + 1,
    lambda x: x + 1.0,
    lambda x: x + True,
    lambda x: x - 1,
    lambda x: x + float("inf"),
    lambda x: x + float("-inf"),
    lambda x: x * 0.0,
    lambda x: x * -0.0,
    lambda x: (x + 1, x - 1),
    lambda x: (x - 1, x + 1),
    lambda x: x[0],
    lambda x: x[0:1],
    lambda x: x[:, 0],
    lambda x: x[..., 0],
    lambda x: x[:, None],
    lambda x: x.view(2, 256),
    lambda x: x.view(256, 2),
    lambda x: x.reshape(2, 256),
    lambda x: x.to(torch.float16),
    lambda x: x.to(torch.bfloat16),
    lambda x: x.to(memory_format=torch.channels_last),
    lambda x: x.sum(1),
    lambda x: x.sum(1, keepdim=True),
    lambda x: x.sum((1,)),
    lambda x: functional.max_pool2d(x, 2),
    lambda x: functional.max_pool2d(x, 2, stride=1),
    lambda x: functional.adaptive_max_pool2d(x, 2),
    lambda x: functional.max_pool1d(x.flatten(2), 2),
    lambda x: functional.adaptive_max_pool1d(x.flatten(2), 2),
    lambda x: functional.gelu(x),
    lambda x: functional.gelu(x, approximate="tanh"),
    lambda x: functional.softmax(x, -1),
    lambda x: torch.softmax(x, -1),
    lambda x: torch.cat([x, x], 0),
    lambda x: torch.cat([x, x], 1),
    lambda x: torch.stack([x, x], 0),
    lambda x: torch.full_like(x, 1e-5) * x,
    lambda x: torch.full_like(x, 1.0000000001e-5) * x,
]


def test_different_functions_have_different_texts() -> None:
    texts = [text(each) for each in FUNCTIONS]
    assert len(set(texts)) == len(FUNCTIONS)
    assert [text(each) for each in FUNCTIONS[:5]] == texts[:5]


def test_names_do_not_matter() -> None:
    def first(given: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        middle = given @ other
        return middle + given

    def second(y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        return (y @ z) + y

    a, b = torch.zeros(3, 3), torch.ones(3, 3)
    assert text(first, a, b) == text(second, a, b)
    assert text(first, a, b) != text(lambda y, z: (y @ z) + z, a, b)


@torch.library.custom_op("hidet_test_text::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


twice.register_fake(torch.empty_like)


@torch._dynamo.allow_in_graph
def others(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@torch._dynamo.allow_in_graph
@functools.wraps(functional.relu)
def disguised(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@pytest.mark.parametrize(
    "function",
    [
        twice,
        others,
        disguised,
        lambda x: torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: y - 1, (x,)),
    ],
)
def test_what_others_bring_along_has_no_text(function: Callable[..., Any]) -> None:
    graph = traced(lambda x: function(x * 2))
    with pytest.raises(NoText):
        graph_text(graph)


def test_functions_of_pytorch_that_were_replaced_have_no_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert function_name(torch.relu) == "torch.relu"
    monkeypatch.setattr(functional, "gelu", disguised)
    with pytest.raises(NoText):
        function_name(functional.gelu)
    with pytest.raises(NoText):
        function_name(print)


def test_a_tensor_in_the_graph_has_no_text() -> None:
    graph = torch.fx.Graph()
    graph.output(graph.call_function(torch.relu, (graph.placeholder("x"), torch.ones(2))))
    with pytest.raises(NoText, match="Tensor"):
        graph_text(graph)
