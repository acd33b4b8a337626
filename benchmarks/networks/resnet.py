"""ResNet (He et al. 2015, arXiv 1512.03385), with the stride on the 3x3 convolution."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


def resnet18() -> nn.Module:
    """18 layers, 11 689 512 parameters."""
    return ResNet(Basic, (2, 2, 2, 2))


def resnet50() -> nn.Module:
    """50 layers, 25 557 032 parameters."""
    return ResNet(Bottleneck, (3, 4, 6, 3))


class ResNet(nn.Module):
    """Images (n, 3, 224, 224) to logits (n, 1000)."""

    def __init__(self, block: type[Basic | Bottleneck], depths: tuple[int, ...]) -> None:
        super().__init__()
        self.stem = ConvNorm(3, 64, 7, stride=2)
        stages, channels = [], 64
        for stage, depth in enumerate(depths):
            for index in range(depth):
                stride = 2 if stage > 0 and index == 0 else 1
                stages.append(block(channels, 64 << stage, stride))
                channels = (64 << stage) * block.expansion
        self.blocks = nn.Sequential(*stages)
        self.classifier = nn.Linear(channels, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.max_pool2d(F.relu(self.stem(x)), 3, stride=2, padding=1)
        x = self.blocks(x).mean((2, 3))
        return self.classifier(x)


class Basic(nn.Module):
    """Two 3x3 convolutions beside a shortcut."""

    expansion = 1

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.first = ConvNorm(channels, width, 3, stride)
        self.second = ConvNorm(width, width, 3)
        self.shortcut = shortcut(channels, width, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.second(F.relu(self.first(x))) + self.shortcut(x))


class Bottleneck(nn.Module):
    """A 3x3 convolution between two 1x1 ones that narrow and widen, beside a shortcut."""

    expansion = 4

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.narrow = ConvNorm(channels, width, 1)
        self.middle = ConvNorm(width, width, 3, stride)
        self.widen = ConvNorm(width, width * 4, 1)
        self.shortcut = shortcut(channels, width * 4, stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.relu(self.middle(F.relu(self.narrow(x))))
        return F.relu(self.widen(y) + self.shortcut(x))


class ConvNorm(nn.Sequential):
    """A convolution without bias, then batch norm."""

    def __init__(self, channels: int, width: int, kernel: int, stride: int = 1) -> None:
        convolution = nn.Conv2d(channels, width, kernel, stride, kernel // 2, bias=False)
        super().__init__(convolution, nn.BatchNorm2d(width))


def shortcut(channels: int, width: int, stride: int) -> nn.Module:
    """The input itself, or a 1x1 convolution where its shape changes."""
    if stride == 1 and channels == width:
        return nn.Identity()
    return ConvNorm(channels, width, 1, stride)
