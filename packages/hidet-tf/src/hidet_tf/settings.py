"""What a compile is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hidet.errors import BadArgument
from hidet.options import checked
from hidet_tf.variables import Reading


@dataclass(frozen=True)
class Settings:
    """How to compile: `fallback` is "warn" or "error", `core` holds hidet's own options by name.

    `results` are tensors of TensorFlow ("tf") or arrays ("numpy"). `freeze` makes weights constants
    of the graph, whose changes are seen if `weights` is "watched", and not if it is "frozen".
    `asserts` are checked by TensorFlow where the function has them ("kept"), or not ("dropped").
    """

    fallback: str = "warn"
    results: str = "tf"
    freeze: bool = True
    weights: str = "watched"
    asserts: str = "kept"
    core: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reading(self) -> Reading:
        """How graphs have variables."""
        return Reading(self.weights) if self.freeze else Reading.GIVEN


OWN: dict[str, tuple[Any, Any]] = {
    "fallback": ("warn", "error"),
    "results": ("tf", "numpy"),
    "freeze": (True, False),
    "weights": ("watched", "frozen"),
    "asserts": ("kept", "dropped"),
}
"""The options of this frontend, each with its values, the first of which is usual."""


def settings_for(options: Mapping[str, Any]) -> Settings:
    """The settings that options ask for; BadArgument for one that does not exist."""
    given = dict(options)
    own = {name: given.pop(name, values[0]) for name, values in OWN.items()}
    for name, value in own.items():
        if value not in OWN[name]:
            one, other = OWN[name]
            raise BadArgument(f"option {name} is {value!r}", help=f"use {one!r} or {other!r}")
    try:
        return Settings(**own, core=checked(given))
    except BadArgument as error:
        raise BadArgument(
            error.message, help=f"of TensorFlow: {', '.join(OWN)}; {error.help}"
        ) from None
