"""What a compile is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hidet.errors import BadArgument
from hidet.options import checked


@dataclass(frozen=True)
class Settings:
    """How to compile: `fallback` is "warn" or "error", `core` holds hidet's own options by name."""

    fallback: str = "warn"
    core: Mapping[str, Any] = field(default_factory=dict)


FALLBACKS = ("warn", "error")


def settings_for(options: Mapping[str, Any]) -> Settings:
    """The settings that options ask for; BadArgument for one that does not exist."""
    given = dict(options)
    fallback = given.pop("fallback", "warn")
    if fallback not in FALLBACKS:
        raise BadArgument(f"option fallback is {fallback!r}", help='use "warn" or "error"')
    try:
        return Settings(fallback, checked(given))
    except BadArgument as error:
        raise BadArgument(error.message, help=f"of TensorFlow: fallback; {error.help}") from None
