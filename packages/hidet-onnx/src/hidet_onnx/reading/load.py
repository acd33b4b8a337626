"""Models from files, bytes and protobuf messages."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from google.protobuf.message import DecodeError
from onnx import ModelProto

from hidet.errors import BadArgument
from hidet_onnx.reading.external import Folder

Given: TypeAlias = "str | os.PathLike[str] | bytes | ModelProto"


@dataclass(frozen=True)
class Source:
    """A model as it was given: the message, what errors call it, the folder of its other files."""

    model: ModelProto
    name: str
    folder: Folder
    nbytes: int


def load(given: Given) -> Source:
    """The model at a path, in bytes or in a message; BadArgument if there is none."""
    if isinstance(given, ModelProto):
        return source(given, given.graph.name or "model", None, given.ByteSize())
    if isinstance(given, bytes | bytearray | memoryview):
        return parsed(bytes(given), "model", None)
    if not isinstance(given, str | os.PathLike):
        raise BadArgument(
            f"a model is a path, bytes or an onnx.ModelProto, not {type(given).__name__}"
        )
    path = Path(given)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BadArgument(f"{path} cannot be read: {error.strerror}") from error
    return parsed(data, path.name, path.parent)


def parsed(data: bytes, name: str, folder: Path | None) -> Source:
    """The model that bytes spell."""
    model = ModelProto()
    try:
        model.ParseFromString(data)
    except (DecodeError, RuntimeError, ValueError) as error:
        raise BadArgument(
            f"{name} is no ONNX model: {error}",
            help="an ONNX model is a protobuf message; this one is cut short or something else",
        ) from error
    return source(model, name, folder, len(data))


def source(model: ModelProto, name: str, folder: Path | None, nbytes: int) -> Source:
    """The model with where it came from; BadArgument if it is empty."""
    if not model.HasField("graph"):
        raise BadArgument(
            f"{name} holds no model: there is no graph in it",
            help="empty or damaged files read as a model without a graph",
        )
    return Source(model, name, Folder(folder), nbytes)
