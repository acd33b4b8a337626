"""Where in the user's program an operator is."""

from __future__ import annotations

import os
from functools import cache

import tensorflow as tf

from hidet.errors import Place
from hidet_tf.importing.walk import Node

OURS = os.path.dirname(os.path.dirname(__file__)) + os.sep
LIBRARIES = tuple(
    f"{os.sep}{name}{os.sep}" for name in ("tensorflow", "keras", "tf_keras", "importlib")
)
"""Folders whose lines are none of the user's."""


def place_of(node: Node) -> Place:
    """The user's line that made an operator; of a model that was traced by us, its scope."""
    scope = "/".join([*(each.name for each in node.outer), node.op.name])
    found = line_of(node.op) or next(filter(None, map(line_of, reversed(node.outer))), None)
    if found is None:
        return Place("model", 0, node=f"node `{scope}` ({node.op.type})")
    return found


def line_of(op: tf.Operation) -> Place | None:
    """The innermost of the user's lines that made an operator."""
    for frame in reversed(op.traceback or ()):
        if not is_library(frame.filename):
            return Place(frame.filename, frame.lineno, function=frame.name)
    return None


@cache
def is_library(file: str) -> bool:
    """Whether a file is TensorFlow's, Keras' or ours."""
    return file.startswith(OURS) or any(each in file for each in LIBRARIES)
