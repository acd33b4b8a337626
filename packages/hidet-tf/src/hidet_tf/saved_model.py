"""Models in files: SavedModel folders with their signatures, and `.keras` files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar
from zipfile import BadZipFile

import keras
import tensorflow as tf

from hidet.errors import BadArgument

DEFAULT = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
C = TypeVar("C")

DAMAGED = (
    OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, BadZipFile,
    tf.errors.OpError,
)  # fmt: skip
"""What TensorFlow and Keras raise for files that are not there, or are not whole."""


def opened(path: str | os.PathLike[str], safe_mode: bool = True) -> Any:
    """The Keras model in a `.keras` file, or what TensorFlow loads of a SavedModel folder.

    Code in a `.keras` file, a Lambda layer's, runs only without `safe_mode`. BadArgument for a
    file that cannot be loaded.
    """
    where = Path(path)
    if where.suffix == ".keras":
        return keras_model(where, safe_mode)
    if not where.is_dir():
        raise BadArgument(
            f"{where} is no SavedModel folder and no .keras file",
            help="give the folder, or load the model yourself and compile that",
        )
    try:
        return tf.saved_model.load(os.fspath(where))
    except DAMAGED as error:
        raise BadArgument(
            f"{where} is no whole SavedModel: {said(error)}", help="save the model again"
        ) from error


def keras_model(where: Path, safe_mode: bool) -> Any:
    """The model in a `.keras` file."""
    try:
        return keras.models.load_model(where, compile=False, safe_mode=safe_mode)
    except DAMAGED as error:
        if safe_mode and "lambda" in str(error).lower():
            raise BadArgument(
                f"{where} has code in it: {said(error)}",
                help="compile(path, safe_mode=False) runs it, if you trust the file",
            ) from error
        raise BadArgument(
            f"{where} cannot be loaded: {said(error)}",
            help="layers of your own are known to keras.models.load_model(path, custom_objects=...)"
            "; compile the model that it gives",
        ) from error


def said(error: BaseException) -> str:
    """The first line of an error."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def is_loaded(given: Any) -> bool:
    """Whether something is what tf.saved_model.load gives."""
    return hasattr(given, "signatures") and hasattr(given, "tensorflow_version")


def signature_of(loaded: Any, name: str | None) -> Any:
    """The ConcreteFunction of a signature: by default that which servers call, or the only one."""
    known = list(loaded.signatures)
    if name is None:
        name = known[0] if len(known) == 1 else DEFAULT
        if name not in known:
            raise BadArgument(f"the SavedModel has {listed(known)}", help='pass signature="..."')
    if name not in known:
        raise BadArgument(f"there is no signature {name!r}", help=f"there is {listed(known)}")
    return loaded.signatures[name]


def listed(names: list[str]) -> str:
    """The names of signatures for a message."""
    return f"the signatures {', '.join(names)}" if names else "no signature"


class Signatures(Mapping[str, C], Generic[C]):
    """The signatures of a SavedModel by name, each compiled by `make` when it is first read."""

    def __init__(self, loaded: Any, make: Callable[[Any], C]) -> None:
        self.loaded, self.make = loaded, make
        self.made: dict[str, C] = {}

    def __getitem__(self, name: str) -> C:
        if name not in self.made:
            self.made[name] = self.make(signature_of(self.loaded, name))
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.loaded.signatures)

    def __len__(self) -> int:
        return len(self.loaded.signatures)
