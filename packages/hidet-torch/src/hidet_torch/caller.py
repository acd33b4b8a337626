"""Warnings name the user's line, not one of PyTorch's or of this compiler's."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from hidet.errors.warning import pass_over, warn

__all__ = ["warn"]

FOLDERS = [Path(file or "").parent for file in (torch.__file__, __file__)]
pass_over(*(f"{folder}{os.sep}" for folder in FOLDERS), "<eval_with_key>")
