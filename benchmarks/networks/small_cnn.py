"""A small convolutional network, as cameras and microcontrollers run it in int8."""

from __future__ import annotations

from torch import nn


def small_cnn(channels: int = 3) -> nn.Module:
    """Images of 64 x 64 pixels to 10 logits; windows of 3 x 3, 16 to 64 channels, two steps of 2;
    24 234 parameters for three channels."""
    return nn.Sequential(
        nn.Conv2d(channels, 16, 3, 1, 1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, 2, 1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, 10),
    )
