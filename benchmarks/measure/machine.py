"""What a number was measured on: it means nothing without."""

from __future__ import annotations

import platform

import torch

from benchmarks.measure.facts import commit, headline, installed, processor

__all__ = ["commit", "default_device", "headline", "installed", "machine", "processor"]

PACKAGES = ("hidet-core", "hidet-torch", "torch", "triton", "transformers", "numpy")


def default_device() -> str:
    """The GPU if there is one."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def machine(device: str) -> dict[str, str]:
    """The commit, the versions and the device, for the head of a table and for its JSON."""
    found = {name: installed(name) for name in PACKAGES}
    return {
        "commit": commit(),
        "device": torch.cuda.get_device_name() if device == "cuda" else processor(),
        "python": platform.python_version(),
        "cuda": str(torch.version.cuda or "none"),
        **{name: text for name, text in found.items() if text},
    }
