"""Inception-V3 (Szegedy et al. 2015, arXiv 1512.00567), without the head used in training."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F


class InceptionV3(nn.Module):
    """Images (n, 3, 299, 299) to logits (n, 1000); 23 834 568 parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            Conv(3, 32, 3, stride=2),
            Conv(32, 32, 3),
            Conv(32, 64, 3, padding=1),
            nn.MaxPool2d(3, stride=2),
            Conv(64, 80, 1),
            Conv(80, 192, 3),
            nn.MaxPool2d(3, stride=2),
            fine(192, pooled=32),
            fine(256, pooled=64),
            fine(288, pooled=64),
            fine_to_middle(288),
            *(middle(768, width) for width in (128, 160, 160, 192)),
            middle_to_coarse(768),
            coarse(1280),
            coarse(2048),
        )
        self.classifier = nn.Sequential(nn.Dropout(), nn.Linear(2048, 1000))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.features(x).mean((2, 3)))


class Conv(nn.Module):
    """A convolution without bias, batch norm, ReLU."""

    def __init__(
        self,
        channels: int,
        width: int,
        kernel: int | tuple[int, int],
        stride: int = 1,
        padding: int | tuple[int, int] = 0,
    ) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(channels, width, kernel, stride, padding, bias=False)
        self.norm = nn.BatchNorm2d(width, eps=0.001)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.norm(self.convolution(x)))


class Branches(nn.Module):
    """Several ways over one input, their channels side by side."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


def fine(channels: int, pooled: int) -> nn.Module:
    """35x35: 1x1, 5x5, two 3x3, pooling (figure 5)."""
    return Branches(
        Conv(channels, 64, 1),
        nn.Sequential(Conv(channels, 48, 1), Conv(48, 64, 5, padding=2)),
        nn.Sequential(
            Conv(channels, 64, 1), Conv(64, 96, 3, padding=1), Conv(96, 96, 3, padding=1)
        ),
        nn.Sequential(nn.AvgPool2d(3, 1, 1), Conv(channels, pooled, 1)),
    )


def fine_to_middle(channels: int) -> nn.Module:
    """35x35 to 17x17 (figure 10)."""
    return Branches(
        Conv(channels, 384, 3, stride=2),
        nn.Sequential(Conv(channels, 64, 1), Conv(64, 96, 3, padding=1), Conv(96, 96, 3, stride=2)),
        nn.MaxPool2d(3, stride=2),
    )


def middle(channels: int, width: int) -> nn.Module:
    """17x17: 1x1, one and two factorised 7x7, pooling (figure 6)."""
    return Branches(
        Conv(channels, 192, 1),
        nn.Sequential(Conv(channels, width, 1), wide(width, width), tall(width, 192)),
        nn.Sequential(
            Conv(channels, width, 1),
            tall(width, width),
            wide(width, width),
            tall(width, width),
            wide(width, 192),
        ),
        nn.Sequential(nn.AvgPool2d(3, 1, 1), Conv(channels, 192, 1)),
    )


def middle_to_coarse(channels: int) -> nn.Module:
    """17x17 to 8x8."""
    return Branches(
        nn.Sequential(Conv(channels, 192, 1), Conv(192, 320, 3, stride=2)),
        nn.Sequential(
            Conv(channels, 192, 1), wide(192, 192), tall(192, 192), Conv(192, 192, 3, stride=2)
        ),
        nn.MaxPool2d(3, stride=2),
    )


def coarse(channels: int) -> nn.Module:
    """8x8: 1x1, 3x3 split in two directions, twice, pooling (figure 7)."""
    return Branches(
        Conv(channels, 320, 1),
        nn.Sequential(Conv(channels, 384, 1), split()),
        nn.Sequential(Conv(channels, 448, 1), Conv(448, 384, 3, padding=1), split()),
        nn.Sequential(nn.AvgPool2d(3, 1, 1), Conv(channels, 192, 1)),
    )


def split() -> nn.Module:
    """A 1x3 and a 3x1 convolution of the same 384 channels."""
    return Branches(Conv(384, 384, (1, 3), padding=(0, 1)), Conv(384, 384, (3, 1), padding=(1, 0)))


def wide(channels: int, width: int) -> nn.Module:
    """The 1x7 half of a factorised 7x7."""
    return Conv(channels, width, (1, 7), padding=(0, 3))


def tall(channels: int, width: int) -> nn.Module:
    """The 7x1 half of a factorised 7x7."""
    return Conv(channels, width, (7, 1), padding=(3, 0))
