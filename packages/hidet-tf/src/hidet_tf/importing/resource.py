"""Handles of the program around a function that are no variables."""

from __future__ import annotations

from typing import Any


class Resource:
    """Stands for a handle that only TensorFlow's own operators read, such as a table's."""

    def __init__(self, handle: Any) -> None:
        self.handle = handle
