"""A model and its inputs from a function of the user's; what goes wrong in it is the user's."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from hidet.errors import BadArgument


def example(model: str) -> tuple[Any, ...]:
    """What the named function gives: a model, then its inputs."""
    module, colon, function = model.partition(":")
    if not colon:
        raise BadArgument(
            f"{model!r} is no file",
            help="name a model file, what CompiledGraph.save wrote, or module:function that "
            "gives (model, *inputs)",
        )
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python -m` does: the model is the user's own file
    found = None if module.endswith(".py") else by_user(lambda: find_spec(module))
    if found is None:
        raise BadArgument(
            f"{model} cannot be imported: there is no module {module!r}",
            help=f"name the module: {module.removesuffix('.py')}:{function}"
            if module.endswith(".py")
            else "call the command in the folder of the file, or install the package",
        )
    loaded = by_user(lambda: import_module(module))
    make = getattr(loaded, function, None)
    if make is None:
        raise BadArgument(f"{model} cannot be imported: {module} has no {function!r}")
    made = by_user(make)
    if not isinstance(made, tuple) or len(made) < 2:
        raise BadArgument(f"{model}() gives no (model, *inputs)")
    return made


def by_user(run: Callable[[], Any]) -> Any:
    """What the user's code gives; its exception ends the command with the user's traceback."""
    try:
        return run()
    except Exception as error:
        blame(error)


def blame(error: Exception) -> NoReturn:
    """End the command with the traceback of an exception, without our frames."""
    traceback.print_exception(type(error), error, own(error.__traceback__))
    raise SystemExit(1) from None


def own(frames: TracebackType | None) -> TracebackType | None:
    """The frames from the first on that is neither ours nor Python's import system's."""
    skipped = (str(Path(__file__).parents[1]), str(import_module("importlib").__file__), "<frozen")
    while frames is not None:
        if not frames.tb_frame.f_code.co_filename.startswith(skipped):
            return frames
        frames = frames.tb_next
    return None
