"""What fields of plans are called in files, where the code calls them otherwise.

A name in a file never changes, so that versions of hidet read each other's archives.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

NAMES = {"data_sizes": "told", "forwarded": "handed", "iterations": "turns", "iteration": "turn"}
"""By the name of the field."""


def in_file(field: str) -> str:
    """The name of a field in a file."""
    return NAMES.get(field, field)


def stored(fields: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The fields of a dataclass by their names in a file: a `dict_factory` of `asdict`."""
    return {in_file(name): value for name, value in fields}
