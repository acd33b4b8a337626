"""MobileNet-V2 (Sandler et al. 2018, arXiv 1801.04381)."""

from __future__ import annotations

import torch
from torch import nn

STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion, channels, number of blocks, stride of the first: table 2 of the paper."""


class MobileNetV2(nn.Module):
    """Images (n, 3, 224, 224) to logits (n, 1000); 3 504 872 parameters."""

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = [ConvNormClip(3, 32, 3, stride=2)]
        channels = 32
        for expansion, width, count, stride in STAGES:
            for index in range(count):
                layers.append(Inverted(channels, width, expansion, stride if index == 0 else 1))
                channels = width
        layers.append(ConvNormClip(channels, 1280, 1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(1280, 1000))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.features(x).mean((2, 3)))


class Inverted(nn.Module):
    """Widen, convolve each channel by itself, narrow; the narrow ends are joined by a shortcut."""

    def __init__(self, channels: int, width: int, expansion: int, stride: int) -> None:
        super().__init__()
        wide = channels * expansion
        self.shortcut = stride == 1 and channels == width
        self.layers = nn.Sequential(
            *([ConvNormClip(channels, wide, 1)] if expansion > 1 else []),
            ConvNormClip(wide, wide, 3, stride, groups=wide),
            nn.Conv2d(wide, width, 1, bias=False),
            nn.BatchNorm2d(width),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.layers(x)
        return x + y if self.shortcut else y


class ConvNormClip(nn.Sequential):
    """A convolution without bias, batch norm, and a ReLU that ends at six."""

    def __init__(
        self, channels: int, width: int, kernel: int, stride: int = 1, groups: int = 1
    ) -> None:
        super().__init__(
            nn.Conv2d(channels, width, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU6(),
        )
