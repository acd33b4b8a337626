"""Typed settings: each has a default, an environment name and one line of documentation.

`with options(dump="out"): ...` sets them for a block (thread- and task-safe); the environment sets
them for a process. Options marked `affects_code` enter the key of the compile cache by themselves.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from hidet.errors import BadArgument

T = TypeVar("T")


@dataclass(frozen=True)
class Option(Generic[T]):
    """One setting. `parse` reads its text form, from the environment or a command line."""

    name: str
    default: T
    doc: str
    parse: Callable[[str], T]
    affects_code: bool = False
    allowed: tuple[T, ...] | None = None
    numbers: range | None = None
    """Integers that are allowed too, for an option that is a word or a number."""

    @property
    def environment(self) -> str:
        """The environment variable that sets it."""
        return "HIDET_" + self.name.upper()

    def get(self) -> T:
        """The value in force here: the innermost scope, else the environment, else the default."""
        scoped = _scoped.get()
        if self.name in scoped:
            return scoped[self.name]  # type: ignore[return-value]
        return self.outside()

    def outside(self) -> T:
        """The value where no scope sets it. To look into the environment takes as long as a small
        kernel: who asks at each call asks for it once, and then `inside` scopes."""
        text = os.environ.get(self.environment)
        return self.default if text is None else self.checked(self.read(text))

    def inside(self, outside: T) -> T:
        """The value of the innermost scope, or the one outside of scopes."""
        return _scoped.get().get(self.name, outside)  # type: ignore[return-value]

    def read(self, text: str) -> T:
        """The value of `text`; a text that has no value is a BadArgument."""
        try:
            return self.parse(text)
        except (ValueError, KeyError):
            raise BadArgument(
                f"{self.environment}={text!r} is not a value of {self.name}",
                help=f"use {self.values()}",
            ) from None

    def checked(self, value: T) -> T:
        """`value`, if it is one of the allowed ones and of the default's type."""
        if self.numbers is not None and type(value) is int and value in self.numbers:
            return value
        if self.allowed is not None and value not in self.allowed:
            raise BadArgument(f"option {self.name} is {value!r}", help=f"use {self.values()}")
        if self.default is not None and not isinstance(value, type(self.default)):
            expected = type(self.default).__name__
            raise BadArgument(f"option {self.name} takes {expected}, not {value!r}")
        return value

    def values(self) -> str:
        """What it may be, in words."""
        if self.allowed is None:
            return {bool: "true or false", int: "a whole number"}.get(type(self.default), "a text")
        choices = ", ".join(map(repr, self.allowed))
        if self.numbers is not None:
            choices += f", {self.numbers[0]} to {self.numbers[-1]}"
        return f"one of {choices}"


def _switch(text: str) -> bool:
    return {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}[
        text.lower()
    ]


def _word_or_number(text: str) -> Any:
    return int(text) if text.isdecimal() else text


_NOTHING: Mapping[str, object] = MappingProxyType({})
_scoped: ContextVar[Mapping[str, object]] = ContextVar("hidet_options", default=_NOTHING)

dump = Option("dump", "", "Folder to write every stage of compilation to, as text.", str)
check = Option("check", False, "Check the IR after every pass.", _switch)
progress = Option("progress", True, "Show progress bars on a terminal.", _switch)
cache_dir = Option("cache_dir", "", "Folder of the compile cache; empty: the user's cache.", str)
cache = Option("cache", True, "Keep compiled kernels on disk and reuse them.", _switch)
cache_bytes = Option("cache_bytes", 4 << 30, "Size the compile cache may grow to, in bytes.", int)
jobs = Option(
    "jobs",
    0,
    "Compilers at work at once; 0: one for each core, up to 32 while schedules are measured.",
    int,
)
workers = Option(
    "workers",
    0,
    "Processes that turn operators into kernels; 0: one for each two cores if there are at least "
    "four cores and eight different kernels, while schedules are measured one for each of `jobs`; "
    "1: none but this one.",
    int,
)
threads = Option(
    "threads",
    0,
    "Threads that kernels on a CPU use; 0: as many as PyTorch does in calls through hidet-torch, "
    "else `OMP_NUM_THREADS`, else one for each core that this process may use.",
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
    "eight; 2 all that may be the fastest. The tuner skips candidates that the cost model predicts "
    "to be slower than the best one measured so far, by a margin that it learns from its own "
    "errors. Those that whole calls are not faster with give way to the cost model's.",
    int,
    allowed=(0, 1, 2),
)
tune_seconds = Option(
    "tune_seconds",
    0,
    "Seconds that measuring schedules may take in one compilation, which keeps the best so far: "
    "seven tenths for operators alone, the rest for whole calls; 0: no limit.",
    int,
)
precision = Option(
    "precision",
    "",
    "Compute float32 graphs in `float16` or `bfloat16`, results in the types they had; softmax, "
    "norms, exponentials and sums stay in float32.",
    str,
    affects_code=True,
    allowed=("", "float16", "bfloat16"),
)
round_each = Option(
    "round_each",
    False,
    "Round what each operator gives to its type, float16 or bfloat16, as frameworks do; off: what "
    "never leaves a kernel stays float32 until it is stored, compared or cast by the model.",
    _switch,
    affects_code=True,
)
fp16_reduction = Option(
    "fp16_reduction",
    False,
    "Accumulate float16 matmuls in float16 on tensor cores: faster on some GPUs, less precise.",
    _switch,
    affects_code=True,
)
tf32 = Option(
    "tf32",
    False,
    "Multiply float32 matmuls on tensor cores as tf32, operands rounded to ten bits of fraction; "
    "off: by 3xTF32, as precise as on CUDA cores.",
    _switch,
    affects_code=True,
)
mma = Option(
    "mma",
    "mma",
    "Which units multiply matrices on a GPU: `mma` tensor cores where types allow, `simt` CUDA "
    "cores.",
    str,
    affects_code=True,
    allowed=("mma", "simt"),
)
parallel_k: Option[str | int] = Option(
    "parallel_k",
    "default",
    "Split-K: among how many blocks of a GPU the k of a matmul is split: `default` what the cost "
    "model says for each tile, `search` every number is a choice of its own for the tuner, "
    "`disabled` one, or a number (fewer where k is short).",
    _word_or_number,
    affects_code=True,
    allowed=("default", "search", "disabled"),
    numbers=range(1, 17),
)
variants = Option(
    "variants",
    6,
    "Kernels that a GPU has at most for an operator whose sizes only calls tell, each for a range "
    "of sizes, where the cost model says that it saves enough: a call chooses between them. 1: one "
    "for all sizes, which compiles sooner.",
    int,
    affects_code=True,
    allowed=(6, 5, 4, 3, 2, 1),
)
fusion = Option(
    "fusion",
    True,
    "Compute operators that follow one another in one kernel; off: each in one of its own.",
    _switch,
    affects_code=True,
)
attention = Option(
    "attention",
    True,
    "Find attention that a model spells out, and compute it by one kernel where there is one.",
    _switch,
    affects_code=True,
)
overlap_launches = Option(
    "overlap_launches",
    True,
    "Let kernels of a GPU (sm_90 and later) begin while those before end: what they do before they "
    "touch memory is then done.",
    _switch,
    affects_code=True,
)
in_place = Option(
    "in_place",
    True,
    "Let a result take the memory of an operand that nothing reads after it, where each element is "
    "read only by the thread that writes the same one: less scratch memory.",
    _switch,
    affects_code=True,
)
verbose = Option(
    "verbose", False, "Print each graph pass: operators before and after, time.", _switch
)
save_graph = Option(
    "save_graph", "", "Folder to write a graph to after each of its passes, as text.", str
)
profile_passes = Option("profile_passes", "", "File to write the time of each graph pass to.", str)

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
        threads,
        target,
        search_space,
        tune_seconds,
        precision,
        round_each,
        fp16_reduction,
        tf32,
        mma,
        parallel_k,
        variants,
        fusion,
        attention,
        overlap_launches,
        in_place,
        verbose,
        save_graph,
        profile_passes,
    )
}


@contextmanager
def options(**values: object) -> Iterator[None]:
    """Set options for a block: `with options(dump="out", check=True): ...`."""
    leave = set_here(values)
    try:
        yield
    finally:
        leave()


def set_here(values: Mapping[str, object]) -> Callable[[], None]:
    """Set options from here on; what comes back sets them to what they were."""
    token = _scoped.set({**_scoped.get(), **checked(values)})
    return lambda: _scoped.reset(token)


def checked(values: Mapping[str, object]) -> dict[str, object]:
    """`values` if each names an option and fits it; else BadArgument with the nearest name."""
    for name in values:
        if name not in OPTIONS:
            near = difflib.get_close_matches(name, OPTIONS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(OPTIONS)}"
            raise BadArgument(f"there is no option {name!r}", help=hint)
    return {name: OPTIONS[name].checked(value) for name, value in values.items()}


def code_values() -> tuple[object, ...]:
    """The values of all options that change generated code, for caches in memory."""
    return tuple(option.get() for option in OPTIONS.values() if option.affects_code)


def code_key() -> dict[str, object]:
    """The values of all options that change generated code, for cache keys."""
    return {name: option.get() for name, option in OPTIONS.items() if option.affects_code}
