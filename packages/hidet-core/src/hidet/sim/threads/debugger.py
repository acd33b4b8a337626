"""`breakpoint()` in a simulated kernel: Python's debugger, at the script's line."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from hidet.errors import Place
from hidet.sim.threads.simt_group import SimtGroup
from hidet.sim.values import Mask


def stop(simt: SimtGroup, mask: Mask, values: dict[str, Any]) -> None:
    """Call `breakpoint()` where the script does, with its variables as globals.

    Each name has a numpy array with an entry for each thread that stopped, in the order of
    `threads`, which names them.
    """
    place = simt.run.place(simt.site) or Place("<kernel>", 1)
    names: dict[str, Any] = {
        "threads": [simt.name(int(row)) for row in np.flatnonzero(mask)],
        "kernel": simt.run.kernel,
        "__name__": simt.run.kernel.name,
        "__builtins__": __builtins__,
    }
    call = ast.Expr(ast.Call(ast.Name("breakpoint", ast.Load()), [], []))
    after = ast.Pass()  # where the debugger stands, so that it does not step out of the frame
    tree = ast.Module([call, after], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno = node.end_lineno = place.line
            node.col_offset = node.end_col_offset = 0
    exec(compile(tree, place.file, "exec"), names | values)
