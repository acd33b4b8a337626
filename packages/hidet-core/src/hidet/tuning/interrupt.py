"""Ctrl-C while schedules are measured: it ends the search, and nothing that was found is lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def undisturbed() -> Iterator[None]:
    """A block after which Ctrl-C acts, not inside: for calls into what holds locks.

    KeyboardInterrupt may come between a lock's being taken and the block that would give it back,
    as in a pool of threads: those would wait for it forever.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is None:  # None: what is no Python's own stays
        yield
        return
    noted: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: noted.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if noted:
            signal.raise_signal(signal.SIGINT)


class Interruptible:
    """A block in which Ctrl-C is KeyboardInterrupt inside of `waiting` only, and elsewhere noted.

    So records are kept whole and measured times are taken in. After the first Ctrl-C, and in
    threads that get no signals, or where the program handles Ctrl-C itself, all is as ever.
    """

    def __init__(self) -> None:
        self.noted = False
        self.open = False
        self.before: Any = None

    def __enter__(self) -> Interruptible:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self.before = signal.signal(signal.SIGINT, self.handle)
        return self

    def __exit__(self, *error: object) -> None:
        self.restore()

    def restore(self) -> None:
        """Let Ctrl-C be what it was."""
        before, self.before = self.before, None
        if before is not None:
            signal.signal(signal.SIGINT, before)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """What Ctrl-C does."""
        self.noted = True
        self.restore()
        if self.open:
            raise KeyboardInterrupt

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """A block that may be left at any point."""
        self.open = True
        try:
            if self.noted:
                raise KeyboardInterrupt
            yield
        finally:
            self.open = False
