"""A small dense network, for examples and first steps."""

from __future__ import annotations

from torch import nn


def mlp() -> nn.Module:
    """Rows of 784 numbers to 10 logits; 235 146 parameters."""
    return nn.Sequential(
        nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.GELU(), nn.Linear(128, 10)
    )
