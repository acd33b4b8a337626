"""Warnings name the user's line, not one of PyTorch's or of this compiler's."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from hidet.errors.warning import pass_over, warn

__all__ = ["warn"]

FOLDERS = [Path(torch.__file__ or "").parent, Path(__file__).parents[1]]
pass_over(*(f"{folder}{os.sep}" for folder in FOLDERS), "<eval_with_key>", "<string>")
