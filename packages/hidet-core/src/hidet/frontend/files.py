"""Model files that an installed frontend takes, found by how their names end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Protocol, cast

from hidet.build.compiled import CompiledGraph
from hidet.build.orders import IN_ROWS, Orders
from hidet.errors import BadArgument
from hidet.frontend.discover import installed, load
from hidet.graph import FlowGraph


class CompiledFile(Protocol):
    """What `compile(path, device=...)` of a frontend's module gives for a file of its own."""

    @property
    def graph(self) -> FlowGraph:
        """The model as operators."""

    @property
    def compiled(self) -> CompiledGraph:
        """The model compiled; raises a HidetError where that needs the values of a call."""

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """All results, as numpy arrays if all inputs are."""

    def save(self, path: str | PathLike[str], *targets: str, orders: Orders = IN_ROWS) -> None:
        """Write the model compiled for its device, or for `targets`, to a file; `orders` are given
        only where users name some, and are those of `FlowGraph.build`."""


Others = Mapping[str, Callable[[Mapping[str, Any]], Sequence[Any]]]
"""By name, other programs that run a file: from inputs by name to results, all numpy arrays."""


def frontend_for(path: str) -> str | None:
    """The name of the installed frontend that takes a file of this name; None if none does."""
    for name, manifest in installed().items():
        if Path(path).suffix in manifest.files:
            return name
    return None


def require_frontend(path: str) -> str:
    """The name of the frontend that takes a file; BadArgument names those that are taken."""
    found = frontend_for(path)
    if found is None:
        ends = [end for each in installed().values() for end in each.files]
        raise BadArgument(
            f"no installed frontend takes {path}",
            help=f"files that end in {', '.join(ends)} are taken"
            if ends
            else "pip install hidet-onnx, for files that end in .onnx",
        )
    return found


def compile_file(path: str, device: str | None = None) -> CompiledFile:
    """Compile a model file by the frontend that takes it, for a device."""
    module = load(require_frontend(path))
    return cast(CompiledFile, module.compile(path, device=device))


def others(path: str, device: str | None = None) -> Others:
    """Other programs, installed here, that run a model file on a device."""
    beside = installed()[require_frontend(path)].beside
    return cast(Others, resolve_name(beside)(path, device)) if beside else {}
