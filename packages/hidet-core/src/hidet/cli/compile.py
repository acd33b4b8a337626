"""`hidet compile`: a model file compiled into one that `hidet run` and `hidet.load` take."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from hidet.errors import BadArgument
from hidet.frontend.files import compile_file


def compile(
    path: str,
    output: str | None,
    targets: Sequence[str],
    device: str | None,
    orders: Sequence[str] = (),
) -> int:
    """Compile a model file for a device, or for targets, and write it beside itself or there."""
    given = dict(map(order, orders))
    to = Path(output) if output else Path(path).with_suffix(".hidet")
    if to.resolve() == Path(path).resolve():
        raise BadArgument(f"{to} is the model itself", help="name another file with -o")
    if not to.parent.is_dir():
        raise BadArgument(
            f"there is no folder {to.parent}", help="make it, or name another with -o"
        )
    start = time.perf_counter()
    model = compile_file(path, device)
    model.save(to, *targets, **({"orders": given} if given else {}))
    seconds = time.perf_counter() - start
    where = ", ".join(targets) or model.compiled.device
    print(f"{to}: for {where}, {to.stat().st_size / 2**20:.1f} MiB, compiled in {seconds:.1f} s")
    return 0


def order(text: str) -> tuple[str, tuple[int, ...]]:
    """An order of axes such as "image=0,2,3,1"."""
    name, _, axes = text.rpartition("=")
    numbers = axes.split(",")
    if not name or not all(each.isdecimal() for each in numbers):
        raise BadArgument(f"--order {text!r} names no axes", help="write it like image=0,2,3,1")
    return name, tuple(map(int, numbers))
