"""The process's team of threads, on which kernels run their parallel loops on the CPU.

Every archive that needs a team brings one as a binary (`codegen/cpu/team.cpp`); the first that is
loaded is the process's, and kernels of all archives are given its function. So there is one team,
however many archives are loaded, and none where nothing needs it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from threading import Lock
from types import TracebackType

from hidet import options
from hidet.runtime.cores import cores, usual_threads

TEAM = "team"
"""What the binary is called in an archive."""
PARALLEL = "hidet_parallel"
"""The variable of a binary of kernels that holds the address of the team's function."""


class Habit(ctypes.Structure):
    """What the team has learned of a plan: times in nanoseconds, and how it runs next."""

    _fields_ = [
        ("alone", ctypes.c_longlong),
        ("shared", ctypes.c_longlong),
        ("calls_alone", ctypes.c_int),
        ("next_alone", ctypes.c_int),
        ("loops", ctypes.c_int),
    ]


class Team:
    """The functions of a loaded team."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.run = ctypes.cast(library["hidet_team_run"], ctypes.c_void_p)
        self.begin, self.end, self.stop = (
            library[f"hidet_team_{name}"] for name in ("begin", "end", "stop")
        )
        self.begin.argtypes = [ctypes.c_int, ctypes.POINTER(Habit)]
        for each in (self.begin, self.end, self.stop):
            each.restype = None
        self.rows = getattr(library, "hidet_rows", None)
        """Copies arrays into rows; None in archives that an older version wrote."""
        if self.rows is not None:
            self.rows.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int] * 3 + [ctypes.c_void_p] * 2


_team: Team | None = None
_lock = Lock()


def offer(load: Callable[[], ctypes.CDLL]) -> None:
    """Let the process have the team that `load` gives, unless it has one."""
    global _team
    with _lock:
        if _team is None:
            _team = Team(load())


def join(kernels: ctypes.CDLL) -> bool:
    """Let the loops of a binary run on the process's team; whether it has any.

    Where there is no team they run on the thread that meets them.
    """
    try:
        variable = ctypes.c_void_p.in_dll(kernels, PARALLEL)
    except ValueError:
        return False
    if _team is not None:
        variable.value = _team.run.value
    return True


def stop_team() -> None:
    """End the threads of the team, and wait until they are gone. The next call starts new ones."""
    if _team is not None:
        _team.stop()


def rows_copier() -> Callable[..., int] | None:
    """What copies arrays into rows on the process's team; None where there is no team."""
    return None if _team is None else _team.rows


class OnTeam:
    """A block in which this thread runs the kernels of a plan, which may use the team.

    `threads` is how many a call uses where option `threads` says nothing: `threads_of`.
    """

    def __init__(self, threads: Callable[[], int]) -> None:
        self.threads, self.outside = threads, options.threads.outside()
        self.habit = Habit()
        self.place = ctypes.byref(self.habit)

    def count(self) -> int:
        """How many threads a call uses here."""
        return options.threads.inside(self.outside) or self.threads()

    def around(self, run: Callable[[Sequence[int]], object]) -> Callable[[Sequence[int]], object]:
        """`run` within such a block, one call at a time, by as few calls as can be."""
        team, lock, count, place = _team, Lock(), self.count, self.place
        if team is None:
            return run
        begin, end = team.begin, team.end

        def on_team(addresses: Sequence[int]) -> None:
            with lock:
                begin(count(), place)
                try:
                    run(addresses)
                finally:
                    end()

        return on_team

    def __enter__(self) -> None:
        if _team is not None:
            _team.begin(self.count(), self.place)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if _team is not None:
            _team.end()


def threads_of(framework: Callable[[], int] | None = None) -> Callable[[], int]:
    """How many threads a call uses where option `threads` says nothing: as many as the framework,
    if it tells, but no more than there are cores, of which a framework may see too many in a
    container."""
    usual = usual_threads()
    if framework is None:
        return lambda: usual
    most = max(usual, cores())
    return lambda: min(framework(), most)
