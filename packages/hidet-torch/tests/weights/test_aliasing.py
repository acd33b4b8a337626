"""steal_weights where a derived constant consists of weights: the model's tensors lie in it."""

from __future__ import annotations

import copy
import gc
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import hidet_torch
from hidet.options import options
from hidet_torch.weights.weights import LIVE

SIZE = 32


class Layer(nn.Module):
    """Attention of one head, its projections one derived constant; then, if `gated`, a gated layer.

    The two weights of that take turns in their derived constant, which changes their strides.
    """

    def __init__(self, gated: bool = False) -> None:
        super().__init__()
        self.gated = gated
        self.q, self.k, self.v = (nn.Linear(SIZE, SIZE) for _ in range(3))
        self.gate, self.up = (nn.Linear(SIZE, 2 * SIZE, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * SIZE, SIZE, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = torch.softmax(self.q(x) @ self.k(x).transpose(-1, -2), -1)
        y = scores @ self.v(x)
        if not self.gated:
            return y
        return self.down(functional.silu(self.gate(y)) * self.up(y))


@pytest.fixture(autouse=True)
def on_the_simulator() -> Iterator[None]:
    with options(target="sim"), torch.no_grad():
        yield


@pytest.fixture
def net() -> Layer:
    torch.manual_seed(0)
    return Layer().eval()


def inputs(rows: int = 4) -> torch.Tensor:
    return torch.randn(1, rows, SIZE)


def stolen(net: nn.Module) -> Any:
    return torch.compile(net, backend="hidet", options={"steal_weights": True}, dynamic=False)


def place(layer: nn.Linear) -> int:
    """Where the memory begins that a layer's weight lies in."""
    return layer.weight.untyped_storage().data_ptr()


def held(net: nn.Module) -> int:
    """Bytes of all memory that a model's parameters lie in."""
    memory = {
        each.untyped_storage().data_ptr(): each.untyped_storage() for each in net.parameters()
    }
    return sum(each.nbytes() for each in memory.values())


def is_right(fast: Any, net: nn.Module, x: torch.Tensor) -> None:
    """Whether the compiled model does what a copy of the model does in PyTorch."""
    torch.testing.assert_close(fast(x), copy.deepcopy(net)(x), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("gated", [False, True])
def test_weights_become_parts_of_what_is_derived(gated: bool) -> None:
    net, x = Layer(gated).eval(), inputs()
    before = {name: each.clone() for name, each in net.state_dict().items()}
    nbytes, parameters = held(net), list(net.parameters())
    fast = hidet_torch.compile(net, x, steal_weights=True) if gated else stolen(net)
    is_right(fast, net, x)
    assert place(net.q) == place(net.k) == place(net.v)
    assert (place(net.gate) == place(net.up)) is gated
    assert held(net) == nbytes  # derived constants and weights together
    assert all(a is b for a, b in zip(net.parameters(), parameters, strict=True))
    for name, each in net.state_dict().items():
        assert torch.equal(each, before[name])
    torch.testing.assert_close(net(x), fast(x), rtol=1e-3, atol=1e-4)


def test_a_gated_layer_keeps_its_strides_where_dynamo_guards_them() -> None:
    net, x = Layer(gated=True).eval(), inputs()
    expected, fast = net(x), stolen(net)
    for _ in range(2):
        torch.testing.assert_close(fast(x), expected, rtol=1e-3, atol=1e-4)
    assert place(net.q) == place(net.k)
    assert not net.gate.weight.untyped_storage().nbytes()  # given back instead


def test_nothing_else_holds_them(net: Layer) -> None:
    known = set(LIVE)
    stolen(net)(inputs())
    (graph,) = set(LIVE) - known
    runner = graph.runner
    assert runner is not None
    assert len(graph.lent) == 6  # the biases too
    assert not set(graph.lent) & set(runner.executor.constants)
    assert all(graph.by_tensor[runner.weights[name]].memory.is_meta for name in graph.lent)


def test_writes_are_seen_without_deriving_again(net: Layer, monkeypatch: Any) -> None:
    x, fast = inputs(), stolen(net)
    fast(x)
    known = [each for each in LIVE if each.lent]
    monkeypatch.setattr(type(known[0]), "update", lambda self: pytest.fail("derived again"))
    net.q.weight.mul_(1.5)
    net.v.weight.copy_(torch.randn_like(net.v.weight))
    net.load_state_dict(Layer().state_dict())
    is_right(fast, net, x)


def test_writes_that_pytorch_does_not_count_are_seen_too(net: Layer) -> None:
    x, fast = inputs(), stolen(net)
    fast(x)
    net.k.weight.data.mul_(2.0)
    net.v.weight.data[3] = 1.0
    is_right(fast, net, x)


def test_weights_put_elsewhere_come_back() -> None:
    net, x = Layer(gated=True).eval(), inputs()
    fast = hidet_torch.compile(net, x, steal_weights=True)
    is_right(fast, net, x)
    net.q.weight.data = torch.randn(SIZE, SIZE)
    net.up.weight.data = torch.randn(2 * SIZE, SIZE)
    is_right(fast, net, x)
    assert place(net.q) == place(net.k)
    assert place(net.up) == place(net.gate)
    net.load_state_dict(Layer(gated=True).state_dict(), assign=True)
    is_right(fast, net, x)
    assert place(net.q) == place(net.k)
    net.v.weight.mul_(3.0)
    net.gate.weight.mul_(3.0)
    is_right(fast, net, x)


def test_graphs_for_other_shapes_use_the_same_memory(net: Layer) -> None:
    fast, nbytes = stolen(net), held(net)
    for rows in (4, 5, 4):
        is_right(fast, net, inputs(rows))
    assert held(net) == nbytes
    net.v.weight.mul_(0.5)
    for rows in (5, 4):
        is_right(fast, net, inputs(rows))


def test_nothing_is_compiled_again_for_it(net: Layer) -> None:
    torch._dynamo.reset()
    fast = stolen(net)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for _ in range(3):
            fast(inputs())


def test_a_weight_that_shares_its_memory_stays(net: Layer) -> None:
    whole = torch.randn(2, SIZE, SIZE)
    net.q.weight.data = whole[0]
    fast = stolen(net)
    is_right(fast, net, inputs())
    assert place(net.q) == whole.data_ptr()
    net.q.weight.mul_(2.0)
    assert torch.equal(whole[0], net.q.weight)
    is_right(fast, net, inputs())


def test_a_model_is_copied_and_saved_as_before(net: Layer, tmp_path: Any) -> None:
    x = inputs()
    fast = hidet_torch.compile(net, x, steal_weights=True)
    expected = fast(x)
    torch.save(net.state_dict(), tmp_path / "weights.pt")
    other = Layer().eval()
    other.load_state_dict(torch.load(tmp_path / "weights.pt"))
    torch.testing.assert_close(other(x), expected, rtol=1e-3, atol=1e-4)
    twin = copy.deepcopy(net)
    twin.q.weight.mul_(2.0)
    is_right(fast, net, x)


def test_the_model_outlives_the_compiled_one(net: Layer) -> None:
    x, fast = inputs(), stolen(net)
    expected = fast(x)
    del fast
    torch._dynamo.reset()
    gc.collect()
    torch.testing.assert_close(net(x), expected, rtol=1e-3, atol=1e-4)
