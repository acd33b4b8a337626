"""Models on two GPUs, in one process and one thread."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import hidet_torch
from hidet_torch.backend import hidet

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs"),
]
DEVICES = ("cuda:0", "cuda:1")


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(64, 129), nn.GELU(), nn.LayerNorm(129), nn.Linear(129, 7), nn.Softmax(-1)
    ).eval()


@pytest.fixture(autouse=True)
def fresh() -> None:
    torch._dynamo.reset()
    torch.cuda.set_device(0)


@torch.no_grad()
@pytest.mark.parametrize("current", [0, 1])
def test_each_model_runs_on_its_device(current: int) -> None:
    torch.cuda.set_device(current)
    nets = {device: network().to(device) for device in DEVICES}
    fast = {device: torch.compile(net, backend=hidet) for device, net in nets.items()}
    for iteration in range(4):
        for device, call in fast.items():
            x = torch.randn(5, 64, device=device)
            found = call(x)
            assert str(found.device) == device
            torch.testing.assert_close(found, nets[device](x), rtol=1e-4, atol=1e-5)
            assert torch.cuda.current_device() == current, iteration


@torch.no_grad()
@pytest.mark.parametrize("current", [0, 1])
def test_without_guards(current: int) -> None:
    torch.cuda.set_device(current)
    calls = []
    for device in DEVICES:
        net, x = network().to(device), torch.randn(5, 64, device=device)
        calls.append((net, hidet_torch.compile(net, x), device))
    for _ in range(3):
        for net, call, device in calls:
            x = torch.randn(5, 64, device=device)
            torch.testing.assert_close(call(x), net(x), rtol=1e-4, atol=1e-5)
    assert torch.cuda.current_device() == current


@torch.no_grad()
def test_one_compiled_function_on_both_devices() -> None:
    fast = torch.compile(lambda x: (x * 2 + 1).relu().sum(-1), backend=hidet)
    for device in (*DEVICES, *DEVICES):
        x = torch.randn(33, 65, device=device)
        torch.testing.assert_close(fast(x), (x * 2 + 1).relu().sum(-1))


@torch.no_grad()
def test_streams_of_the_device_that_is_not_current() -> None:
    net = network().to("cuda:1")
    x = torch.randn(5, 64, device="cuda:1")
    call = hidet_torch.compile(net, x)
    expected = call(x)
    stream = torch.cuda.Stream("cuda:1")
    stream.wait_stream(torch.cuda.current_stream("cuda:1"))
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10_000_000)
        late = x * 1.0
        found = call(late)
    torch.cuda.set_device(0)
    stream.synchronize()
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


@torch.no_grad()
def test_a_pipeline_over_two_devices() -> None:
    first, second = network()[:3].to("cuda:0"), network()[3:].to("cuda:1")
    a, b = (torch.compile(part, backend=hidet) for part in (first, second))
    x = torch.randn(5, 64, device="cuda:0")
    for _ in range(3):
        found = b(a(x).to("cuda:1"))
        expected = second(first(x).to("cuda:1"))
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_the_same_model_moved_to_the_other_device() -> None:
    net = network().to("cuda:0")
    there = copy.deepcopy(net).to("cuda:1")
    x = torch.randn(5, 64)
    found = [
        torch.compile(each, backend=hidet)(x.to(device))
        for each, device in ((net, "cuda:0"), (there, "cuda:1"))
    ]
    torch.testing.assert_close(found[0].cpu(), found[1].cpu(), rtol=0, atol=0)
