"""How an error is shown: the only code that formats places."""

from __future__ import annotations

import linecache
import unicodedata

from hidet.errors.place import Place


def render(code: str, message: str, place: Place | None, help: str | None) -> str:
    """The error as a user reads it: code and sentence, source lines with carets, next step."""
    lines = [f"error[{code}]: {message}"]
    while place is not None:
        lines += excerpt(place)
        place = place.called_from
        if place is not None:
            lines.append("  called from")
    if help:
        lines.append(f"  help: {help}")
    return "\n".join(lines)


def excerpt(place: Place) -> list[str]:
    """The line a place points at, with carets under its columns; empty where it cannot be read."""
    where = f"  --> {place}" + (f" in {place.function}" if place.function else "")
    text = linecache.getline(place.file, place.line).rstrip()
    if not text:
        return [where]
    before = text[: place.column]
    width = max(1, place.end_column - place.column)
    pad = "".join("\t" if c == "\t" else " " * cells(c) for c in before)
    marked = text[place.column : place.column + width]
    carets = "^" * max(1, sum(cells(c) for c in marked))
    return [where, f"    {text}", f"    {pad}{carets}"]


def cells(character: str) -> int:
    """How many terminal columns a character takes."""
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
