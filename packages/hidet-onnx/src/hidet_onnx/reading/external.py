"""Tensors that lie in files beside the model, mapped read-only."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto

from hidet.errors import BadArgument


class Folder:
    """The folder of a model: what its tensors may be read from, and nothing else.

    A file is mapped once, when a tensor in it is first read.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.files: dict[str, np.ndarray[Any, Any]] = {}

    def map(self, tensor: TensorProto) -> np.ndarray[Any, Any]:
        """The bytes of a tensor; BadArgument for a location that is not plainly in the folder."""
        facts = {each.key: each.value for each in tensor.external_data}
        location = facts.get("location", "")
        if self.path is None:
            raise BadArgument(
                f"the values of {tensor.name!r} are in a file {location!r}, but the model came "
                "without a folder",
                help="compile the model by its path",
            )
        if location not in self.files:
            self.files[location] = mapped(self.path, location, tensor.name)
        whole = self.files[location]
        offset = number(facts.get("offset", "0"), "offset", tensor.name)
        rest = str(max(len(whole) - offset, 0))
        length = number(facts.get("length", rest), "length", tensor.name)
        if offset + length > len(whole):
            raise BadArgument(
                f"{tensor.name!r} lies at bytes {offset} to {offset + length} of {location!r}, "
                f"which has {len(whole)}"
            )
        return whole[offset : offset + length]


def number(text: str, what: str, name: str) -> int:
    """A number of bytes as the file spells it."""
    if not text.isascii() or not text.isdecimal() or len(text) > 20:
        raise BadArgument(f"the {what} of {name!r} is {text!r}, no number of bytes")
    return int(text)


def mapped(folder: Path, location: str, name: str) -> np.ndarray[Any, Any]:
    """The bytes of a regular file below a folder, which no link leads out of."""

    def refuse(why: str) -> BadArgument:
        return BadArgument(f"the values of {name!r} are said to lie in {location!r}, {why}")

    if not location or "\0" in location:
        raise refuse("which names no file")
    path, inside = folder / location, Path(os.path.realpath(folder))
    real = Path(os.path.realpath(path))
    if os.path.isabs(location) or ".." in Path(location).parts or inside not in real.parents:
        raise refuse("which is not in the model's folder")
    try:
        handle = os.open(real, os.O_RDONLY | NO_LINK)
    except OSError as error:
        raise refuse(f"which cannot be opened: {error.strerror}") from error
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise refuse("which is no regular file")
        if facts.st_nlink > 1:
            raise refuse("which has other names outside of the folder, perhaps")
        if not facts.st_size:
            return np.empty(0, np.uint8)
        memory = mmap.mmap(handle, facts.st_size, access=mmap.ACCESS_READ)
    finally:
        os.close(handle)
    return np.frombuffer(memory, np.uint8)


NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Opened so, a link is refused and a pipe does not wait for a writer."""
