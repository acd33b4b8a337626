"""Which hidet a result was measured with: one that makes other kernels says nothing of these."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from hidet import codegen, fusion, passes, schedules
from hidet.__about__ import __version__

MAKERS = (schedules, fusion, passes, codegen)
"""What decides how a kernel of an operator looks."""


def origin() -> dict[str, str]:
    """The version, and a digest of the sources of what makes kernels."""
    return {"hidet": __version__, "sources": digest()}


@lru_cache(maxsize=1)
def digest() -> str:
    """A digest of what makes kernels."""
    found = hashlib.sha256()
    for package in MAKERS:
        root = Path(package.__path__[0])
        for path in sorted(root.rglob("*.py")):
            name = f"{package.__name__}/{path.relative_to(root)}"
            found.update(name.encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]
