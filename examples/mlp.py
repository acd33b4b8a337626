"""A small network through torch.compile, on the GPU if there is one, else on the CPU.

Run it: python examples/mlp.py
"""

from __future__ import annotations

import torch
from torch import nn

import hidet_torch


def main() -> None:
    """Compile, compare with PyTorch, and say what was compiled."""
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)).eval().to(device)
    images = torch.randn(32, 784, device=device)

    compiled = torch.compile(model, backend="hidet")
    with torch.no_grad():  # keeping inputs for gradients would take time
        logits = compiled(images)
        torch.testing.assert_close(logits, model(images), rtol=1e-3, atol=1e-3)
        print(f"{len(images)} images on {device}: the logits agree")
        print(hidet_torch.explain(model, images))


if __name__ == "__main__":
    main()
