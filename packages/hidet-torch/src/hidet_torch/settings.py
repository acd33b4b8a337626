"""What a compile is asked for: `mode=` or `options=` of torch.compile, over `dynamo_config`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from hidet.errors import BadArgument
from hidet.options import OPTIONS, checked, options


@dataclass(frozen=True)
class Settings:
    """How to compile. `core` holds options of hidet's own by name.

    `fallback` is "warn" or "error": what to do about operators that only PyTorch can run. `freeze`
    makes weights constants. `inference` gives results without gradients even where they are wanted.
    `steal_weights` holds weights once: in what is derived of them, or only that.
    `correctness_report` prints how far each operator is off at the first call: "eager" compares
    with what PyTorch computes, "float64" with numpy.
    """

    fallback: str = "warn"
    freeze: bool = True
    inference: bool = False
    use_graph: bool = True
    print_input_graph: bool = False
    steal_weights: bool = False
    correctness_report: str = ""
    core: Mapping[str, Any] = field(default_factory=dict)

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """In this block core's options are set, precision following PyTorch where not given."""
        follow = {"tf32": torch.backends.cuda.matmul.allow_tf32}
        with options(**{**follow, **self.core}):
            yield


MODES: dict[str, dict[str, Any]] = {
    "default": {"search_space": 0},
    "reduce-overhead": {"search_space": 0, "use_graph": True},
    "max-autotune": {"search_space": 2, "use_graph": True},
    "max-autotune-no-cudagraphs": {"search_space": 2, "use_graph": False},
}
"""What the modes of torch.compile mean here."""

OWN = {
    "fallback": str,
    "freeze": bool,
    "inference": bool,
    "use_graph": bool,
    "print_input_graph": bool,
    "steal_weights": bool,
    "correctness_report": str,
}
REPORTS = ("", "eager", "float64")


def tensor_cores(flag: bool) -> dict[str, Any]:
    """Float32 by tf32 on tensor cores; or no tensor cores at all."""
    return {"tf32": flag, "mma": "mma" if flag else "simt"}


NAMES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "use_fp16": lambda flag: {"precision": "float16" if flag else ""},
    "use_fp16_reduction": lambda flag: {"fp16_reduction": flag},
    "use_tensor_core": tensor_cores,
    "use_attention": lambda flag: {"attention": flag},
    "use_cuda_graph": lambda flag: {"use_graph": flag},
    "dump_graph_ir": lambda folder: {"dump": folder},
}
"""What the methods of `dynamo_config` whose names are no options' mean; options may be called so
too."""

DEFAULTS: dict[str, Any] = {}
"""What `dynamo_config` was told."""


def settings_for(mode: str | None, given: Mapping[str, Any] | None) -> Settings:
    """The settings of a compile; BadArgument names the nearest option to an unknown one."""
    asked = dict(given or {})
    mode = asked.pop("mode", mode)
    if mode is not None and mode not in MODES:
        raise BadArgument(f"there is no mode {mode!r}", help=f"use one of {', '.join(MODES)}")
    chosen = {**DEFAULTS, **MODES.get(mode or "", {}), **meant(asked)}
    for name, value in chosen.items():
        check(name, value)
    own = {name: value for name, value in chosen.items() if name in OWN}
    core = checked({name: value for name, value in chosen.items() if name not in OWN})
    return replace(Settings(**own), core=core)


def meant(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Options with names that users know from `dynamo_config` under those of this compiler."""
    found: dict[str, Any] = {}
    for name, value in asked.items():
        if name == "correctness_report" and isinstance(value, bool):
            value = "eager" if value else ""
        if name in NAMES and name != "dump_graph_ir" and not isinstance(value, bool):
            raise BadArgument(f"option {name} takes bool, not {value!r}")
        found |= NAMES[name](value) if name in NAMES else {name: value}
    return found


def known_names() -> list[str]:
    """Every option there is, by each of its names."""
    return [*OWN, *OPTIONS, *NAMES, "mode"]


def check(name: str, value: Any) -> None:
    """Raise unless there is such an option, and the value fits it if it is one of ours."""
    known = known_names()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
        raise BadArgument(f"there is no option {name!r}", help=hint)
    if name in OPTIONS:
        checked({name: value})
    if name in OWN and not isinstance(value, OWN[name]):
        raise BadArgument(f"option {name} takes {OWN[name].__name__}, not {value!r}")
    if name == "fallback" and value not in ("warn", "error"):
        raise BadArgument(f"option fallback is {value!r}", help="use 'warn' or 'error'")
    if name == "correctness_report" and value not in REPORTS:
        raise BadArgument(f"option {name} is {value!r}", help="use True or 'float64'")
