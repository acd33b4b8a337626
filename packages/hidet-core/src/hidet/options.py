"""Typed settings: each has a default, an environment name and one line of documentation.

`with options(dump="out"): ...` sets them for a block (thread- and task-safe); the environment sets
them for a process. Options marked `affects_code` enter the key of the compile cache by themselves.
"""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from hidet.errors import BadArgument

T = TypeVar("T")


class PendingOptionWarning(UserWarning):
    """An option was set that has no effect in this version."""


@dataclass(frozen=True)
class Option(Generic[T]):
    """One setting. `parse` reads its text form, from the environment or a command line."""

    name: str
    default: T
    doc: str
    parse: Callable[[str], T]
    affects_code: bool = False
    allowed: tuple[T, ...] | None = None
    pending: bool = False
    """Whether nothing reads it yet; who sets it is told so by `warn_of_pending`."""

    @property
    def environment(self) -> str:
        """The environment variable that sets it."""
        return "HIDET_" + self.name.upper()

    def get(self) -> T:
        """The value in force here: the innermost scope, else the environment, else the default."""
        scoped = _scoped.get()
        if self.name in scoped:
            return scoped[self.name]  # type: ignore[return-value]
        text = os.environ.get(self.environment)
        return self.default if text is None else self.checked(self.read(text))

    def read(self, text: str) -> T:
        """The value of `text`; a text that has no value is a BadArgument."""
        try:
            return self.parse(text)
        except (ValueError, KeyError):
            raise BadArgument(
                f"{self.environment}={text!r} is not a value of {self.name}"
            ) from None

    def checked(self, value: T) -> T:
        """`value`, if it is one of the allowed ones and of the default's type."""
        if self.allowed is not None and value not in self.allowed:
            choices = ", ".join(map(repr, self.allowed))
            raise BadArgument(f"option {self.name} is {value!r}", help=f"use one of {choices}")
        if self.default is not None and not isinstance(value, type(self.default)):
            expected = type(self.default).__name__
            raise BadArgument(f"option {self.name} takes {expected}, not {value!r}")
        return value


def _switch(text: str) -> bool:
    return {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}[
        text.lower()
    ]


_NOTHING: Mapping[str, object] = MappingProxyType({})
_scoped: ContextVar[Mapping[str, object]] = ContextVar("hidet_options", default=_NOTHING)

dump = Option("dump", "", "Folder to write every stage of compilation to, as text.", str)
check = Option("check", False, "Check the IR after every pass.", _switch)
progress = Option("progress", True, "Show progress bars on a terminal.", _switch)
cache_dir = Option("cache_dir", "", "Folder of the compile cache; empty: the user's cache.", str)
cache = Option("cache", True, "Keep compiled kernels on disk and reuse them.", _switch)
cache_bytes = Option("cache_bytes", 4 << 30, "Size the compile cache may grow to, in bytes.", int)
jobs = Option("jobs", 0, "Compilers at work at once; 0: one for each core.", int)
workers = Option(
    "workers",
    0,
    "Processes that turn operators into kernels; 0: one for each two cores if there are at least "
    "four cores and eight different kernels, 1: none but this one.",
    int,
)
target = Option(
    "target",
    "",
    "Compile for this target instead of the tensors' device; `sim`: a GPU, simulated on the CPU.",
    str,
    affects_code=True,
)
search_space = Option(
    "search_space",
    0,
    "How many schedules of an operator to measure: 0 none, the cost model decides; 1 its best "
    "eight; 2 all.",
    int,
    allowed=(0, 1, 2),
)
tune_seconds = Option(
    "tune_seconds",
    0,
    "Seconds that measuring schedules may take in one compilation, which keeps the best so far; "
    "0: no limit.",
    int,
)
fp16_reduction = Option(
    "fp16_reduction",
    False,
    "Accumulate float16 products in float16 (no effect yet, as a warning says).",
    _switch,
    affects_code=True,
    pending=True,
)
tf32 = Option(
    "tf32",
    False,
    "Allow float32 products in tf32 on tensor cores (no effect yet, as a warning says).",
    _switch,
    affects_code=True,
    pending=True,
)

OPTIONS: dict[str, Option[Any]] = {
    option.name: option
    for option in (
        dump,
        check,
        progress,
        cache_dir,
        cache,
        cache_bytes,
        jobs,
        workers,
        target,
        search_space,
        tune_seconds,
        fp16_reduction,
        tf32,
    )
}


@contextmanager
def options(**values: object) -> Iterator[None]:
    """Set options for a block: `with options(dump="out", check=True): ...`."""
    token = _scoped.set({**_scoped.get(), **checked(values)})
    try:
        yield
    finally:
        _scoped.reset(token)


def checked(values: Mapping[str, object]) -> dict[str, object]:
    """`values` if each names an option and fits it; else BadArgument with the nearest name."""
    for name in values:
        if name not in OPTIONS:
            near = difflib.get_close_matches(name, OPTIONS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(OPTIONS)}"
            raise BadArgument(f"there is no option {name!r}", help=hint)
    return {name: OPTIONS[name].checked(value) for name, value in values.items()}


def warn_of_pending() -> None:
    """Say which options have been set that change nothing yet."""
    for option in OPTIONS.values():
        if option.pending and option.get() != option.default:
            message = f"option {option.name}={option.get()!r} has no effect yet"
            warnings.warn(message, PendingOptionWarning, stacklevel=3)


def code_key() -> dict[str, object]:
    """The values of all options that change generated code, for cache keys."""
    return {name: option.get() for name, option in OPTIONS.items() if option.affects_code}
