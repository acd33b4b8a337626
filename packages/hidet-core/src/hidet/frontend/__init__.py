"""The contract between core and the plugins that bring models in; knows no framework."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hidet.frontend.api import API, Frontend

if TYPE_CHECKING:
    from hidet.frontend.discover import frontend, installed, load

__all__ = ["API", "Frontend", "frontend", "installed", "load"]


def __getattr__(name: str) -> Any:
    """What finds frontends, loaded when it is asked for: who compiles a model has found one."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.discover"), name)
