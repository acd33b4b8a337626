"""Layers whose result others read beside a function of it: one kernel, from PyTorch too."""

import pytest
import torch
from torch.nn import functional as F

import hidet_torch
from hidet.options import options


class Block(torch.nn.Module):
    """A block of a residual network that begins with norms (He et al. 2016)."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        sizes = ((channels, width, 1), (width, width, 3), (width, channels, 1))
        self.norms = torch.nn.ModuleList(torch.nn.BatchNorm2d(each[0]) for each in sizes)
        self.convolutions = torch.nn.ModuleList(
            torch.nn.Conv2d(*each, padding=each[2] // 2, bias=False) for each in sizes
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for norm, convolution in zip(self.norms, self.convolutions, strict=True):
            y = convolution(F.relu(norm(y)))
        return x + y


def network(channels: int, width: int) -> torch.nn.Module:
    torch.manual_seed(0)
    blocks = (Block(channels, width) for _ in range(3))
    net = torch.nn.Sequential(torch.nn.Conv2d(3, channels, 3, padding=1), *blocks)
    for each in net.modules():
        if isinstance(each, torch.nn.BatchNorm2d):
            torch.nn.init.normal_(each.weight, 1.0, 0.2)
            torch.nn.init.normal_(each.running_mean, 0.0, 0.2)
    return net.eval().requires_grad_(False)


def test_a_block_that_begins_with_a_norm_takes_a_kernel_for_each_convolution() -> None:
    net = network(64, 16).half()
    told = hidet_torch.explain(net, torch.randn(1, 3, 28, 28).half()).kernels("sm_90a")
    main = told.partition("main: ")[2]
    assert main.startswith("10 kernels\n")


@pytest.mark.parametrize("target", ["sim", "cpu"])
def test_such_blocks_are_right(target: str) -> None:
    net, x = network(8, 4), torch.randn(1, 3, 7, 5)
    with options(target=target):
        found = hidet_torch.compile(net, x)(x)
    torch.testing.assert_close(found, net(x), atol=1e-4, rtol=1e-4)


class Both(torch.nn.Module):
    """A layer's result, and its activation."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(13, 29)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = self.layer(x)
        return y, F.gelu(y)


@pytest.mark.parametrize("target", ["sim", "cpu"])
def test_a_layer_and_its_activation(target: str) -> None:
    net, x = Both().eval().requires_grad_(False), torch.randn(7, 13)
    assert hidet_torch.explain(net, x).kernels("sm_90a").startswith("main: 1 kernel\n")
    with options(target=target):
        for found, wanted in zip(hidet_torch.compile(net, x)(x), net(x), strict=True):
            torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
