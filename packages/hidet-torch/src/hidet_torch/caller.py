"""Whose line a warning names: the user's, not one of PyTorch's or of this compiler's."""

from __future__ import annotations

import sys
import sysconfig
import warnings
from pathlib import Path

import torch

import hidet

INSIDE = (
    *(str(Path(module.__file__ or "").parent) for module in (torch, hidet)),
    str(Path(__file__).parent),
    sysconfig.get_path("stdlib"),
    "<frozen",
    "<eval_with_key>",
)


def warn(message: Warning) -> None:
    """Warn at the line by which the user's code came here; else at the outermost."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(INSIDE):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, stacklevel=depth)
