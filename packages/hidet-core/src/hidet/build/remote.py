"""Processes that work out recipes: Python computes on one core only.

Each end sends frames: a length of eight bytes, then a pickle. What is sent are operators, and
recipes, which are data; never kernels. A process starts with what this one imports from, reads no
script of the user's, is not reached by Ctrl-C, and ends by itself when nobody needs it any more.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import struct
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import IO, Any

from hidet import seams
from hidet.build.kernels import Made, Shape, group_of, worked_out
from hidet.build.key import is_our_operator
from hidet.options import options
from hidet.target import Target

IDLE = 60.0
"""Seconds after which a process that has nothing to do ends."""
START = "from hidet.build.remote import serve; serve()"


@dataclass(frozen=True)
class Job:
    """A group as data, and what it is worked out for."""

    shape: Shape
    target: Target
    settings: dict[str, Any]

    @property
    def known(self) -> bool:
        """Whether another process knows all this: it has no operators but ours."""
        return all(is_our_operator(op) for op, _ in self.shape.wiring)


class Remote:
    """A process that works out one job at a time."""

    def __init__(self) -> None:
        paths = os.pathsep.join(filter(None, sys.path))
        single = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", START],
            env=os.environ | single | {"PYTHONPATH": paths},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    @property
    def ready(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def work_out(self, job: Job) -> list[Made] | None:
        """The recipes of a job; None if it is to be worked out here, where errors have places.

        OSError or EOFError if the process has ended.
        """
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        send(self.process.stdin, job)
        found: list[Made] | None = receive(self.process.stdout)
        return found

    def end(self) -> None:
        """End it, whatever it is doing."""
        self.process.kill()
        with suppress(OSError):
            self.process.communicate()


class Pool:
    """Processes that wait for the next build."""

    def __init__(self) -> None:
        self.waiting: list[Remote] = []
        self.lock = Lock()
        os.register_at_fork(after_in_child=self.forget)

    def forget(self) -> None:
        """Leave the processes to the parent of a process that was forked."""
        self.waiting, self.lock = [], Lock()

    def take(self) -> Remote:
        """One that waits, or a new one."""
        with self.lock:
            while self.waiting:
                found = self.waiting.pop()
                if found.ready:
                    return found
        return Remote()

    def give(self, remote: Remote) -> None:
        """Let it wait."""
        with self.lock:
            self.waiting.append(remote)


def send(to: IO[bytes], message: object) -> None:
    """Send one frame."""
    content = pickle.dumps(message)
    to.write(struct.pack("<Q", len(content)) + content)
    to.flush()


def receive(source: IO[bytes]) -> Any:
    """Read one frame; EOFError if there is none."""
    head = source.read(8)
    if len(head) < 8:
        raise EOFError
    return pickle.loads(source.read(*struct.unpack("<Q", head)))


def serve() -> None:
    """Work out jobs from the standard input until there are no more, or none comes for long."""
    source, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed is no answer
    seams.call("load_operators")
    gc.collect()
    gc.freeze()
    with suppress(EOFError, BrokenPipeError):
        while select.select([source], [], [], IDLE)[0]:
            send(answers, answer(receive(source)))


def answer(job: Job) -> list[Made] | None:
    """The recipes of a job; None if there was any error."""
    try:
        with options(**job.settings):
            return worked_out(group_of(job.shape), job.target)
    except Exception:  # it is raised again in the process that asked
        return None
