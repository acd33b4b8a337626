"""VGG-16 and DenseNet-121: convolutions in a chain, and chains of concatenations."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from benchmarks.networks.resnet import ConvNorm


class Vgg(nn.Module):
    """Images (n, 3, 224, 224) to logits (n, 1000), configuration D (arXiv 1409.1556)."""

    def __init__(self, stages: tuple[int, ...] = (2, 2, 3, 3, 3), width: int = 64) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for stage, depth in enumerate(stages):
            for _ in range(depth):
                out = width << min(stage, 3)
                layers += [nn.Conv2d(channels, out, 3, padding=1), nn.ReLU()]
                channels = out
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        hidden = 64 * width
        dense = (nn.Linear(channels * 49, hidden), nn.Linear(hidden, hidden))
        self.classifier = nn.Sequential(
            dense[0], nn.ReLU(), dense[1], nn.ReLU(), nn.Linear(hidden, 1000)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.adaptive_avg_pool2d(self.features(x), 7)
        return self.classifier(x.flatten(1))


class DenseNet(nn.Module):
    """Images (n, 3, 224, 224) to logits (n, 1000) (Huang et al. 2016, arXiv 1608.06993)."""

    def __init__(self, blocks: tuple[int, ...] = (6, 12, 24, 16), growth: int = 32) -> None:
        super().__init__()
        channels = 2 * growth
        self.stem = ConvNorm(3, channels, 7, stride=2)
        layers: list[nn.Module] = []
        for index, depth in enumerate(blocks):
            if index:
                channels //= 2
                layers.append(Narrow(2 * channels, channels))
            for _ in range(depth):
                layers.append(Dense(channels, growth))
                channels += growth
        self.layers = nn.Sequential(*layers, nn.BatchNorm2d(channels), nn.ReLU())
        self.classifier = nn.Linear(channels, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.stem(x)), 3, stride=2, padding=1)
        return self.classifier(self.layers(x).mean((2, 3)))


class Dense(nn.Module):
    """Its input, with new channels made of it behind."""

    def __init__(self, channels: int, growth: int) -> None:
        super().__init__()
        width = 4 * growth
        self.first, self.second = nn.BatchNorm2d(channels), nn.BatchNorm2d(width)
        self.narrow = nn.Conv2d(channels, width, 1, bias=False)
        self.grow = nn.Conv2d(width, growth, 3, padding=1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        new = self.grow(F.relu(self.second(self.narrow(F.relu(self.first(x))))))
        return torch.cat([x, new], 1)


class Narrow(nn.Module):
    """Fewer channels and half the size."""

    def __init__(self, channels: int, out: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(channels)
        self.conv = nn.Conv2d(channels, out, 1, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.avg_pool2d(self.conv(F.relu(self.norm(x))), 2)
