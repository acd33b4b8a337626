"""What a compile is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from typing import Any

from hidet.errors import BadArgument
from hidet.frontend.importing.limits import Limits
from hidet.options import checked, options

NOTHING: AbstractContextManager[None] = nullcontext()


@dataclass(frozen=True)
class Settings:
    """How to compile: `fallback` is "warn" or "error", `core` holds hidet's own options by name."""

    fallback: str = "warn"
    limits: Limits = field(default_factory=Limits)
    core: Mapping[str, Any] = field(default_factory=dict)

    def in_force(self) -> AbstractContextManager[None]:
        """A block in which hidet's own options are these; where there are none it costs nothing."""
        return options(**self.core) if self.core else NOTHING


FALLBACKS = ("warn", "error")
LIMITS = {f"import_{each.name}": each.name for each in fields(Limits)}


def settings_for(given: Mapping[str, Any]) -> Settings:
    """The settings that options ask for; BadArgument for one that does not exist."""
    given = dict(given)
    fallback = given.pop("fallback", "warn")
    if fallback not in FALLBACKS:
        raise BadArgument(f"option fallback is {fallback!r}", help='use "warn" or "error"')
    limits = {LIMITS[name]: given.pop(name) for name in LIMITS if name in given}
    for name, value in limits.items():
        if type(value) is not int or value < 1:
            raise BadArgument(f"option import_{name} is {value!r}", help="use a positive number")
    try:
        return Settings(fallback, Limits(**limits), checked(given))
    except BadArgument as error:
        known = ", ".join(["fallback", *LIMITS])
        raise BadArgument(error.message, help=f"of ONNX models: {known}; {error.help}") from None
