"""The GPUs of a machine, shared out among processes that run side by side."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from queue import SimpleQueue

VISIBLE = "CUDA_VISIBLE_DEVICES"


class Lanes:
    """Places for processes, `each` of them on every GPU.

    A process sees all GPUs and finds its own first, so that tests for several GPUs run as they
    would alone.
    """

    def __init__(self, each: int, gpus: Sequence[str] | None = None) -> None:
        found = list_gpus() if gpus is None else gpus
        self.orders = [",".join([*found[i:], *found[:i]]) for i in range(len(found))]
        self.count = each * max(1, len(self.orders))
        """How many processes run at a time; `each` where no GPU was found."""
        self.free: SimpleQueue[str | None] = SimpleQueue()
        for _ in range(each):
            for order in self.orders or [None]:
                self.free.put(order)

    @contextmanager
    def one(self) -> Iterator[Mapping[str, str]]:
        """What a process's environment needs to run in a place, which is taken meanwhile."""
        order = self.free.get()
        try:
            yield {} if order is None else {VISIBLE: order}
        finally:
            self.free.put(order)


def list_gpus() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    if VISIBLE in os.environ:
        return [name for name in os.environ[VISIBLE].split(",") if name]
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True)
    except OSError:
        return []
    lines = [line for line in listed.stdout.splitlines() if line.startswith("GPU ")]
    return [str(number) for number in range(len(lines))]
