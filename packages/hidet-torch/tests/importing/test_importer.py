"""Importing: places, constants, aliases, and what is refused. Numbers: tests/converters."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from tracing import by_reference, imported

from hidet.errors import InternalError
from hidet.graph import Foreign
from hidet_torch.converters import torch as table
from hidet_torch.importing import importer
from hidet_torch.importing.foreign import ForeignStep


def test_operators_without_converter_become_foreign_nodes() -> None:
    found = imported(lambda x: torch.special.bessel_j0(x.relu()) + 1, torch.randn(3, 4))
    kinds = [type(node.op).__name__ for node in found.graph.nodes]
    assert kinds == ["Relu", "Foreign", "Full", "Add"]
    assert list(found.calls) == ["0:aten.special_bessel_j0.default"]
    assert (
        found.coverage.left["aten.special_bessel_j0.default"][0].reason == "there is no converter"
    )


def test_random_operators_keep_their_order() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        a, b = torch.rand_like(x), torch.randn_like(x)
        return b, a

    found = imported(function, torch.randn(3))
    ((key, call),) = found.calls.items()
    assert key == "0:aten.rand_like.default and 1 more"
    assert call.effects
    assert isinstance(call.step, ForeignStep)
    assert [str(each.target) for each in call.step.call.instructions] == [
        "aten.rand_like.default",
        "aten.randn_like.default",
    ]


def test_random_operators_keep_their_order_between_regions() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        a = torch.rand_like(x)
        return torch.randn_like(a.exp()), a

    found = imported(function, torch.randn(3))
    first, second = (node for node in found.graph.nodes if isinstance(node.op, Foreign))
    assert any(each is first.outputs[-1] for each in second.inputs)


def test_constants_share_memory() -> None:
    weight = torch.randn(4, 3).t()
    traced = make_fx(lambda x, w: [torch.mm(x, w)], tracing_mode="fake")(torch.randn(2, 3), weight)
    _, second = traced.graph.find_nodes(op="placeholder")
    found = importer.import_graph(traced, {second: weight})
    (constant,) = found.graph.constants
    assert constant.shape == (4, 3)
    assert found.weights[constant].is_shared
    weight.fill_(1)
    assert np.all(constant.numpy() == 1)


def test_inputs_in_another_order_of_axes_are_not_copied() -> None:
    x = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    found = imported(lambda x: x.relu() * 2, x)
    assert found.inputs[0].order == (0, 2, 3, 1)
    assert found.graph.inputs[0].shape == (2, 4, 5, 3)
    assert found.outputs[0].order == (0, 2, 3, 1)
    (value,) = by_reference(found, x)
    np.testing.assert_allclose(value, x.relu().numpy() * 2)


def test_results_that_are_views_of_inputs_are_not_computed() -> None:
    found = imported(lambda x: (x[1:], x + 1), torch.randn(3, 4))
    view, fresh = found.outputs
    assert view.alias is not None
    assert (view.alias.position, view.alias.offset, view.index) == (0, 4, None)
    assert fresh.index == 0
    assert len(found.graph.outputs) == 1


def test_a_converter_that_gives_another_shape_is_our_defect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    relu = torch.ops.aten.relu.default
    monkeypatch.setitem(table._table, relu, {0: importer.ops.sum})
    with pytest.raises(InternalError, match=r"aten\.relu\.default .* gives shape \(\)"):
        imported(lambda x: x.relu(), torch.randn(3))
