"""Where candidates are run: another process, which may crash, hang, or lose its GPU.

What happens there is told as `Refused`; the process is started again, and goes on where it was.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

from hidet.errors import NoDevice
from hidet.tuning.contest import Refused
from hidet.tuning.verdict import Problem

START = "import sys; from hidet.tuning.trial import serve; serve(int(sys.argv[1]), *sys.argv[2:])"
PATIENCE = 60.0
"""Seconds after which a candidate that has not ended is taken to hang."""
LIMIT = 0.5
"""Seconds that repeated measurements of one candidate may take at once."""


class Testbed:
    """A device to run candidates of one problem after the other on, each by a number."""

    def __init__(self, device: str, lock: Path) -> None:
        self.device, self.lock = device, lock
        self.process: subprocess.Popen[bytes] | None = None
        self.problem: Problem | None = None
        self.archives: dict[int, bytes] = {}
        self.loaded: set[int] = set()

    def __enter__(self) -> Testbed:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def pose(self, problem: Problem) -> None:
        """Begin with a problem; NoDevice if the process cannot work at all."""
        self.problem, self.archives = problem, {}
        self.loaded.clear()
        try:
            if self.process is None:
                self.start()
            else:
                self.ask(("pose", problem))
        except Refused as refusal:
            self.end()
            raise NoDevice(f"{self.device} cannot be used for tuning: {refusal}") from None

    def check(self, number: int, archive: bytes) -> None:
        """Run a candidate once; Refused says what is wrong with it."""
        wrong = self.running(("check", number, archive))
        if wrong:
            raise Refused(wrong)
        self.archives[number] = archive
        self.loaded.add(number)

    def time(self, number: int, repeats: int) -> list[float]:
        """Seconds of up to so many runs of a candidate that was checked."""
        if number not in self.loaded:  # the process is not the one that it was checked in
            self.check(number, self.archives[number])
        times: list[float] = self.running(("time", number, repeats, LIMIT))
        return times

    def running(self, question: tuple[Any, ...]) -> Any:
        """The answer of a process, a new one if there is none."""
        if self.process is None:
            self.start()
        return self.ask(question)

    def start(self) -> None:
        """Start a process; it knows the problem."""
        here, there = Pipe()
        command = [sys.executable, "-P", "-c", START, str(there.fileno()), self.device]
        self.process = subprocess.Popen(
            [*command, str(self.lock)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            pass_fds=[there.fileno()],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        there.close()
        self.connection = here
        self.ask(("pose", self.problem))

    def ask(self, question: tuple[Any, ...]) -> Any:
        """The answer to a question; Refused if there is none, or the device refused."""
        try:
            self.connection.send(question)
            if not self.connection.poll(PATIENCE):
                self.end()
                raise Refused(f"it did not end within {PATIENCE:.0f} seconds")
            fine, answer = self.connection.recv()
        except (EOFError, OSError):
            raise Refused(self.crashed()) from None
        except BaseException:  # also Ctrl-C: the answer to come would be taken for another's
            self.end()
            raise
        if not fine:
            self.end()  # it may have lost its GPU
            raise Refused(answer)
        return answer

    def crashed(self) -> str:
        """How the process ended."""
        assert self.process is not None
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        code = self.process.returncode
        self.end()
        if code is not None and code < 0:
            return f"it crashed: {signal.Signals(-code).name}"
        return f"its process ended with status {code}"

    def end(self) -> None:
        """End the process, whatever it is doing."""
        process, self.process = self.process, None
        self.loaded.clear()
        if process is not None:
            self.connection.close()
            process.kill()
            process.wait()
