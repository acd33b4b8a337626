"""Whose line a warning names: the user's, not one of this compiler's or of a framework's."""

from __future__ import annotations

import os
import sys
import sysconfig
import warnings
from contextvars import Context, ContextVar, copy_context
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
STDLIB = sysconfig.get_path("stdlib") + os.sep
_passed_over = [str(Path(__file__).parents[1]) + os.sep, "<frozen"]


class Line(NamedTuple):
    """A line that warnings may name, as Python's registry of those that were shown has it."""

    file: str
    number: int
    module: str
    registry: dict[Any, Any]


_line: ContextVar[Line | None] = ContextVar("line", default=None)
"""The line for which this thread works, if another one told it."""


def warn(message: Warning) -> None:
    """Warn at the innermost line that is neither ours nor Python's own; in a thread of ours at the
    line that it works for, else at the outermost."""
    line = user_line(sys._getframe(1))
    warnings.warn_explicit(
        message, type(message), line.file, line.number, module=line.module, registry=line.registry
    )


def line_context() -> Context:
    """A copy of this context for work in another thread: warnings there name the line of here."""
    context = copy_context()
    context.run(_line.set, user_line(sys._getframe(1)))
    return context


def user_line(frame: FrameType) -> Line:
    """The line that a warning names which comes from a frame."""
    while is_inside(frame):
        if frame.f_back is None:
            inherited = _line.get()
            if inherited is not None:
                return inherited
            break
        frame = frame.f_back
    return Line(
        frame.f_code.co_filename,
        frame.f_lineno,
        frame.f_globals.get("__name__") or "<string>",  # as Python; None is never shown
        frame.f_globals.setdefault("__warningregistry__", {}),
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
