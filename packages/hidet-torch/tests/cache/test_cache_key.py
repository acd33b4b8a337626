"""What decides how a graph is traced: all of it is told, and values are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from hidet_torch.cache.cache_key import inputs_text, state


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


@contextmanager
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@contextmanager
def autocast_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_autocast_dtype("cpu")
    torch.set_autocast_dtype("cpu", dtype)
    try:
        yield
    finally:
        torch.set_autocast_dtype("cpu", before)


@pytest.mark.parametrize(
    "other",
    [
        torch.no_grad,
        torch.inference_mode,
        lambda: default_dtype(torch.float64),
        deterministic,
        lambda: autocast_dtype(torch.float16),
        lambda: torch.backends.cudnn.flags(enabled=False),
        lambda: torch.backends.mkldnn.flags(enabled=False),
        lambda: torch._functorch.config.patch(view_replay_for_aliased_outputs=False),
    ],
)
def test_what_is_set_in_pytorch_is_told(other: Callable[[], AbstractContextManager[Any]]) -> None:
    usual = state()
    assert usual is not None
    with other():
        assert state() not in (None, usual)
    assert state() == usual


class Functions(TorchFunctionMode):
    pass


class Dispatch(TorchDispatchMode):
    pass


@pytest.mark.parametrize(
    "mode",
    [Functions, Dispatch, lambda: torch.device("meta"), lambda: torch.autocast("cpu")],
)
def test_nothing_is_told_under_modes(mode: Callable[[], AbstractContextManager[Any]]) -> None:
    with mode():
        assert state() is None


def test_nothing_is_told_inside_of_transforms() -> None:
    seen: list[Any] = []
    torch.func.vmap(lambda x: (seen.append(state()), x)[1])(torch.zeros(2))
    assert seen == [None]


def texts(*inputs: Any, weights: tuple[int, ...] = ()) -> list[str] | None:
    """What is told of inputs with examples as Dynamo leaves them."""
    graph = torch.fx.Graph()
    for place, each in enumerate(inputs):
        graph.placeholder(f"x{place}").meta["example_value"] = each
    return inputs_text(graph, inputs, weights)


X = torch.zeros(4, 4)


@pytest.mark.parametrize(
    "other",
    [
        torch.zeros(4, 5),
        torch.zeros(2, 4, 4),
        torch.zeros(4, 4, dtype=torch.float16),
        X.t(),
        torch.zeros(4, 8)[:, ::2],
        torch.zeros(20)[4:].view(4, 4),
        torch.zeros(4, 4, requires_grad=True),
        torch.nn.Parameter(torch.zeros(4, 4)),
        torch.zeros(4, 4, dtype=torch.complex64).conj(),
        torch.zeros(4, 4, dtype=torch.complex64),
        torch._neg_view(X),
        torch.inference_mode()(torch.zeros)(4, 4),
    ],
)
def test_inputs_of_other_kinds_are_told_apart(other: torch.Tensor) -> None:
    found = texts(other)
    assert found is not None
    assert found != texts(X)


def test_values_are_not_told() -> None:
    assert texts(X) == texts(torch.ones(4, 4))


def test_the_same_tensor_twice_is_told_from_two() -> None:
    assert texts(X, X) != texts(X, X.clone())
    assert texts(X, X, X.clone()) != texts(X, X.clone(), X)


def test_weights_are_told_from_inputs() -> None:
    assert texts(X, X, weights=(0,)) != texts(X, X)


@pytest.mark.parametrize(
    "other",
    [
        3,
        None,
        torch.zeros(4, 4).to_sparse(),
        torch.zeros(4, device="meta"),
        torch.nn.parameter.UninitializedParameter(),
    ],
)
def test_nothing_is_told_of_what_is_no_plain_tensor(other: Any) -> None:
    assert texts(X, other) is None


def test_nothing_is_told_of_symbolic_sizes() -> None:
    found: list[Any] = []

    def backend(module: torch.fx.GraphModule, inputs: Any) -> Any:
        found.append(inputs_text(module.graph, inputs, ()))
        return module

    torch.compile(lambda x: x + 1, backend=backend, dynamic=True)(torch.zeros(5, 7))
    torch._dynamo.reset()
    torch.compile(lambda x: x + 1, backend=backend, dynamic=False)(torch.zeros(5, 7))
    assert found[0] is None
    assert found[1] is not None
