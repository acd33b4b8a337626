"""Every public name has its place in the site's reference: `python -m ci.reference FOLDER`.

A public name is one of `__all__` of a public module, or of the table of `import hidet`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

MODULES = (
    *("hidet.graph", "hidet.ops", "hidet.lang", "hidet.lang.cuda", "hidet.mapping", "hidet.sim"),
    *("hidet.compute", "hidet.types", "hidet.errors", "hidet.frontend", "hidet.schedules.base"),
)


def public_names() -> dict[str, set[str]]:
    """Each public name, and the places where the reference may have it."""
    found = {}
    for path in MODULES:
        module = import_module(path)
        for name in module.__all__:
            value = getattr(module, name)
            if not isinstance(value, ModuleType):
                found[f"{path}.{name}"] = {f"{path}.{name}", *places(value, path, name)}
    hidet = import_module("hidet")
    for name, where in hidet.NAMES.items():
        path, _, attribute = where.partition(":")
        found[f"hidet.{name}"] = places(getattr(hidet, name), path, attribute)
    for package in ("hidet_torch", "hidet_onnx"):
        frontend = import_module(package)
        for name in frontend.PUBLIC:
            found[f"{package}.{name}"] = places(getattr(frontend, name), package, name)
    return found


def places(value: Any, path: str, name: str) -> set[str]:
    """Where a thing may be: in the module that defines it or that of its public name."""
    types = import_module("hidet.types")
    if isinstance(value, types.DType):
        return {f"hidet.types.{each}" for each in types.__all__ if getattr(types, each) is value}
    return {f"{path}.{name}", f"{getattr(value, '__module__', path)}.{name}"}


def missing(pages: Iterable[str]) -> list[str]:
    """The public names that no page of the reference has an entry for."""
    entries = {each for page in pages for each in re.findall(r'id="(hidet[\w.]*)"', page)}
    return [name for name, places in public_names().items() if not places & entries]


def main(folder: str) -> int:
    """Print the names that are missing from a folder of pages; 1 if there are any."""
    left = missing(page.read_text() for page in Path(folder).glob("*.html"))
    for name in left:
        print(f"{name} is not in the reference")
    print(f"{len(public_names())} public names, {len(left)} missing")
    return min(len(left), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
