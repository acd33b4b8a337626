"""Which line of the user's model a node of an fx graph comes from."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch

from hidet.errors import Place

TORCH = str(Path(torch.__file__).parent)
FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)')


def place_of(node: torch.fx.Node) -> Place | None:
    """The innermost line outside of PyTorch that it recorded, and the module it belongs to."""
    frames = list(FRAME.finditer(node.meta.get("stack_trace") or ""))
    if not frames:
        return None
    own = [each for each in frames if not each["file"].startswith(TORCH)]
    frame = (own or frames)[-1]
    module = module_path(node.meta.get("nn_module_stack"))
    function = frame["function"] + (f" of {module}" if module else "")
    return Place(frame["file"], int(frame["line"]), function=function)


def module_path(stack: Any) -> str:
    """The innermost module's path in the model: `layers.0.attention`."""
    if not stack:
        return ""
    path = str(list(stack.values())[-1][0])
    path = re.sub(r"\[['\"]?(\w+)['\"]?\]", r".\1", path)
    return re.sub(r"^L\.\w+\.?", "", path.replace("._modules", "")).strip(".")
