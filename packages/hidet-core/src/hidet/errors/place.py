"""Where in the user's text something is: a script line, a model line, a graph node."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A position in the user's source, or a node of the user's model.

    Columns count from 0, lines from 1; line 0 is a file without lines, where `node` says which part
    of it is meant: "node `/layer.3/Conv` (Conv)". `called_from` is who inlined it.
    """

    file: str
    line: int
    column: int = 0
    end_column: int = 0
    function: str = ""
    called_from: Place | None = None
    node: str = ""

    def __str__(self) -> str:
        column = f":{self.column + 1}" if self.line else ""
        return f"{self.line_of_file}{column}{self.suffix}"

    @property
    def short(self) -> str:
        """The place without its column, for tables."""
        return f"{self.line_of_file}{self.suffix}"

    @property
    def line_of_file(self) -> str:
        """The file, and the line if it has lines."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def suffix(self) -> str:
        """The node, behind the file that it is in."""
        return f": {self.node}" if self.node else ""


class Placed(Exception):
    """An exception that knows where it happened, or can still be told."""

    place: Place | None


_here: ContextVar[Place | None] = ContextVar("here", default=None)


def here() -> Place | None:
    """The place that is worked at, as `standing` says."""
    return _here.get()


@contextmanager
def standing(place: Place | None) -> Iterator[None]:
    """In this block errors, and whatever asks for `here`, belong to `place` in the user's model."""
    token = _here.set(place)
    try:
        with at(place):
            yield
    finally:
        _here.reset(token)


@contextmanager
def at(place: Place | None) -> Iterator[None]:
    """Give errors raised in this block a place, unless they already have their own."""
    try:
        yield
    except Placed as error:
        if error.place is None:
            error.place = place
        raise


def caller_place(depth: int = 1) -> Place:
    """The place of the code `depth` frames above the function that calls this."""
    frame = sys._getframe(depth + 1)
    return Place(frame.f_code.co_filename, frame.f_lineno, function=frame.f_code.co_name)
