"""A residual network through torch.compile: options, correctness, and how long a call takes.

Weights are random. On a GPU it is float16 images of 224 x 224, on the CPU float32 of 64 x 64.

Run it: python examples/optimize_pytorch.py
"""

from __future__ import annotations

import torch
from torch import nn

import hidet
from hidet.utils import benchmark_func


class Block(nn.Module):
    """Two convolutions beside a way past them."""

    def __init__(self, inside: int, outside: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outside)
        self.second = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outside)
        changes = stride != 1 or inside != outside
        conv = nn.Conv2d(inside, outside, 1, stride, bias=False)
        self.past = nn.Sequential(conv, nn.BatchNorm2d(outside)) if changes else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The block on images in channels-first form."""
        y = torch.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        y += self.past(x)
        return torch.relu(y)


def resnet18() -> nn.Module:
    """The network of 18 layers."""
    layers: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)]
    layers += [nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    inside = 64
    for outside, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Block(inside, outside, stride), Block(outside, outside, 1)]
        inside = outside
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


def main() -> None:
    """Configure, compile, compare, measure."""
    torch.manual_seed(0)
    cuda = torch.cuda.is_available()
    x = torch.randn(1, 3, *((224, 224) if cuda else (64, 64)))
    model = resnet18().eval()
    if cuda:
        x, model = x.cuda().half(), model.cuda().half()

    # Defaults for every compile that follows. The same can be said for one model alone:
    # torch.compile(model, backend="hidet", mode="max-autotune", options={...}).
    hidet.torch.dynamo_config.use_tensor_core(True)
    hidet.torch.dynamo_config.search_space(1 if cuda else 0)
    model_opt = torch.compile(model, backend="hidet")
    with torch.no_grad():
        torch.testing.assert_close(actual=model_opt(x), expected=model(x), rtol=1e-2, atol=1e-2)
        print(f"eager: {benchmark_func(lambda: model(x)):.2f} ms")
        print(f"hidet: {benchmark_func(lambda: model_opt(x)):.2f} ms")
    hidet.torch.dynamo_config.reset()


if __name__ == "__main__":
    main()
