"""What is under way, on one line of the terminal: the name of a model, and the stage it is in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hidet import options

COLUMNS = 80
"""How wide a line may be."""


def is_watched() -> bool:
    """Whether somebody looks at a terminal, and did not say no to progress."""
    return bool(options.progress.get()) and sys.stderr.isatty()


def short(title: str, columns: int = COLUMNS - 1) -> str:
    """A title that fits into so many columns."""
    return title if len(title) <= columns else f"{title[: columns - 3]}..."


@contextmanager
def at_work(name: str, doing: str) -> Iterator[None]:
    """Show at once what is done to a model in this block, "resnet: lowering", and take it away at
    its end; nothing is shown where nobody looks."""
    if not is_watched():
        yield
        return
    text = short(f"{name}: {doing} ...")
    sys.stderr.write(f"\r{text}")
    sys.stderr.flush()
    try:
        yield
    finally:
        sys.stderr.write(f"\r{' ' * len(text)}\r")
        sys.stderr.flush()
