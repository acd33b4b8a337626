"""Whose line a warning names: the user's, not one of this compiler's or of a framework's."""

from __future__ import annotations

import os
import sys
import sysconfig
import warnings
from pathlib import Path
from types import FrameType

INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
STDLIB = sysconfig.get_path("stdlib") + os.sep
_passed_over = [str(Path(__file__).parents[1]) + os.sep, "<frozen"]


def warn(message: Warning) -> None:
    """Warn at the innermost line that is neither ours nor Python's own; else at the outermost."""
    frame = sys._getframe(1)
    while frame.f_back is not None and is_inside(frame):
        frame = frame.f_back
    warnings.warn_explicit(
        message,
        type(message),
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__") or "<string>",  # as Python; None is never shown
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def pass_over(*beginnings: str) -> None:
    """Let warnings name no line of files that begin so; what frontends say of their frameworks."""
    _passed_over.extend(each for each in beginnings if each not in _passed_over)


def is_inside(frame: FrameType) -> bool:
    """Whether a line is none of the user's."""
    file = frame.f_code.co_filename
    if file.startswith(tuple(_passed_over)):
        return True
    # Below the standard library packages of others may be installed.
    return file.startswith(STDLIB) and not any(each in file for each in INSTALLED)
