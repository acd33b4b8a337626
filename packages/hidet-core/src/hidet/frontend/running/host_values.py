"""Values that only the host has, and the functions that make and read them.

Strings, maps and lists of unknown length are in no kernel's reach. While a model is imported a
`HostValue` stands for one of them, and each `HostFunction` notes what to run at a call. They cut
the model into graphs: see `hidet.frontend.running.stages`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hidet.graph import Tensor


@dataclass(frozen=True, eq=False)
class HostValue:
    """Stands for a value that only the host has; `type` is what the frontend knows of it."""

    type: Any
    name: str = ""


@dataclass(frozen=True, eq=False)
class HostFunction:
    """What runs on the host at each call, between the graphs of a model.

    `run` takes a value for each operand: a numpy array for a Tensor, whatever was made for a
    HostValue, and any other operand itself. It gives a value for each result, of which tensors may
    have sizes that nobody knew before.
    """

    name: str
    run: Callable[..., Sequence[Any]]
    operands: tuple[Any, ...]
    results: tuple[Tensor | HostValue | None, ...]

    def tensors(self) -> list[Tensor]:
        """The operands that graphs compute or get."""
        return [each for each in flat(self.operands) if isinstance(each, Tensor)]


def flat(values: Sequence[Any]) -> list[Any]:
    """The values, those of lists among them one by one."""
    found: list[Any] = []
    for each in values:
        found += flat(each) if isinstance(each, list | tuple) else [each]
    return found


def is_on_host(value: Any) -> bool:
    """Whether a value, or one in a list, is only on the host."""
    return any(isinstance(each, HostValue) for each in flat([value]))
