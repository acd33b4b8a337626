"""`hidet frontends`: the installed frontends, and whether their frameworks are as they need."""

from __future__ import annotations

from hidet.errors import HidetError
from hidet.frontend import installed, load


def frontends() -> int:
    """Print a line for each frontend; 1 if one of them cannot be loaded."""
    failed = 0
    for name, manifest in installed().items():
        try:
            load(name)
            state = "ready" if manifest.usable else "announced: it cannot compile models yet"
        except HidetError as error:
            failed += 1
            state = f"{error.message}; {error.help}" if error.help else error.message
        print(f"{name:6}  {manifest.requires or 'no framework':24}  {state}")
    if not installed():
        print("none installed; pip install hidet-torch, hidet-onnx or hidet-tf")
    return min(failed, 1)
