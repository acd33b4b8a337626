"""What decides how fast a candidate is: the group, its compiler, and the device."""

from __future__ import annotations

import hashlib
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from hidet import schedules
from hidet.__about__ import __version__
from hidet.build.kernels import Shape
from hidet.build.units import Units
from hidet.runtime.device import cuda_name, host_name
from hidet.schedules.base import SCHEDULES
from hidet.target import Target
from hidet.tuning.record import canonical
from hidet.tuning.signature import signature


def facts_of(shape: Shape, target: Target) -> dict[str, Any]:
    """What a record of a group counts for, the device apart."""
    assert shape.anchor is not None
    op = shape.wiring[shape.anchor][0]
    names = [each.name for each in SCHEDULES if isinstance(op, each.ops)]
    # The option that names a target says no more than the target.
    compiler = {k: v for k, v in Units(target).compiler().items() if k != "target"}
    facts = {
        "group": signature(shape.wiring, [shape.anchor, *shape.also]),
        "target": str(target),
        "hidet": __version__,
        "schedules": [*names, digest()],
        "compiler": compiler,
    }
    found: dict[str, Any] = json.loads(canonical(facts))
    return found


@lru_cache(maxsize=1)
def digest() -> str:
    """A digest of our schedules' sources: what was measured of others does not count."""
    found = hashlib.sha256()
    root = Path(schedules.__file__).parent
    for path in sorted(root.rglob("*.py")):
        found.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def device_name(device: str) -> str:
    """A device as records name it: its product, and on the CPU how much of it there is."""
    if device != "cpu":
        return cuda_name(device)
    threads = os.environ.get("OMP_NUM_THREADS") or len(os.sched_getaffinity(0))
    return f"{host_name()}, {threads} threads"
