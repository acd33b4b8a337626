"""The vision transformer ViT-B/16 (Dosovitskiy et al. 2020, arXiv 2010.11929)."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, LAYERS, PATCH, PATCHES = 768, 12, 12, 16, 14 * 14


class VisionTransformer(nn.Module):
    """Images (n, 3, 224, 224) to logits (n, 1000); 86 567 656 parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.start = nn.Parameter(torch.randn(1, 1, WIDTH) * 0.02)
        self.positions = nn.Parameter(torch.randn(1, PATCHES + 1, WIDTH) * 0.02)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH, eps=1e-6)
        self.classifier = nn.Linear(WIDTH, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.start.expand(len(x), -1, -1), x], 1) + self.positions
        return self.classifier(self.norm(self.blocks(x))[:, 0])


class Block(nn.Module):
    """Attention, then two dense layers, each after a norm and beside a shortcut."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(WIDTH, eps=1e-6)
        self.attention = Attention()
        self.dense_norm = nn.LayerNorm(WIDTH, eps=1e-6)
        self.dense = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.attention_norm(x))
        return x + self.dense(self.dense_norm(x))


class Attention(nn.Module):
    """Every patch looks at every patch."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH)
        self.join = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n, length, _ = x.shape
        heads = self.project(x).view(n, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(*heads.unbind())
        return self.join(y.transpose(1, 2).reshape(n, length, WIDTH))
