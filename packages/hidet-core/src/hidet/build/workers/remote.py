"""Processes that answer questions: Python computes on one core only.

Each end sends frames: a length of eight bytes, then a pickle. What is sent is data: operators and
schedules by name, recipes, binaries; never kernels. A process starts with what this one imports
from, reads no script of the user's, is not reached by Ctrl-C, and ends by itself when nobody needs
it any more.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
from contextlib import suppress
from threading import Lock
from types import FrameType
from typing import IO, Any, Protocol, TypeVar

from hidet import seams

A = TypeVar("A")
Answer = TypeVar("Answer", covariant=True)
IDLE = 60.0
"""Seconds after which a process that has nothing to do ends."""
LEAVING = 5.0
"""Seconds that a process which says nothing any more may take to end by itself."""
AGAIN = 0.05
"""Seconds after which an end is tried again that could not be raised where it came."""
START = "from hidet.build.workers.remote import serve; serve()"


class Question(Protocol[Answer]):
    """Something to work out, as data that says all there is to know."""

    def answer(self) -> Answer:
        """What it comes to; it is computed in the process that was asked."""


class Ended(Exception):
    """A process ended before it had answered."""

    def __init__(self, status: int | None) -> None:
        super().__init__(f"it ended with status {status}")
        self.status = status


class Remote:
    """A process that answers one question at a time."""

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

    def ask(self, question: Question[A]) -> A:
        """The answer; Ended if the process does not live to give it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            send(self.process.stdin, question)
            found: A = receive(self.process.stdout)
            return found
        except (OSError, EOFError):
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(LEAVING)
            self.end()
            raise Ended(self.process.returncode) from None
        except BaseException:  # an answer to come would be taken for another's
            self.end()
            raise

    def stop(self) -> None:
        """Let it end, with the compilers that it has started."""
        self.process.terminate()

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


POOL = Pool()


class Team:
    """Processes that threads ask, each its own, and that end together."""

    def __init__(self) -> None:
        self.busy: set[Remote] = set()
        self.ended = False
        self.lock = Lock()

    def ask(self, question: Question[A]) -> A:
        """The answer; Ended if a process broke down over it, or all were to end.

        OSError if no process can be started.
        """
        while True:
            remote = self.taken()
            try:
                return remote.ask(question)
            except Ended as end:
                if end.status != 0:  # else it had waited for too long, and left just now
                    raise
            finally:
                with self.lock:
                    self.busy.discard(remote)
                if remote.ready and not self.ended:
                    POOL.give(remote)

    def taken(self) -> Remote:
        """A process for a thread."""
        remote = POOL.take()
        with self.lock:
            self.busy.add(remote)
            if self.ended:
                remote.stop()
        return remote

    def end(self) -> None:
        """End those at work, and let no other begin."""
        with self.lock:
            self.ended = True
            for each in self.busy:
                each.stop()


def send(to: IO[bytes], message: object) -> None:
    """Send one frame."""
    content = pickle.dumps(message)
    to.write(struct.pack("<Q", len(content)) + content)
    to.flush()


def receive(source: IO[bytes]) -> Any:
    """Read one frame; EOFError if there is none."""
    (length,) = struct.unpack("<Q", whole(source, 8))
    return pickle.loads(whole(source, length))


def whole(source: IO[bytes], length: int) -> bytes:
    """So many bytes; EOFError if there are fewer."""
    content = source.read(length)
    if len(content) < length:
        raise EOFError
    return content


def serve() -> None:
    """Answer questions from the standard input until there are no more, or none comes for long."""
    source, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed is no answer
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGALRM, leave)
    sys.unraisablehook = leave_later
    seams.call("load_operators")
    gc.collect()
    gc.freeze()
    with suppress(EOFError, BrokenPipeError):
        while select.select([source], [], [], IDLE)[0]:
            question: Question[object] = receive(source)
            send(answers, question.answer())


def leave(number: int, frame: FrameType | None) -> None:
    """End in an orderly way: what was started is ended too, and passing files are removed."""
    for each in (signal.SIGTERM, signal.SIGALRM):  # a second end would be raised in the first
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def leave_later(lost: sys.UnraisableHookArgs) -> None:
    """End soon, where an end came while nothing may be raised, as within a destructor."""
    if lost.exc_type is SystemExit:
        signal.signal(signal.SIGALRM, leave)
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
    else:
        sys.__unraisablehook__(lost)
