"""Work done in threads, with a progress bar: compilers run outside of Python's lock."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from math import inf
from time import monotonic
from typing import Any, Generic, TypeVar

from tqdm import tqdm

from hidet import options
from hidet.errors.warning import line_context
from hidet.runtime.cores import cores
from hidet.runtime.progress import COLUMNS, is_watched, short
from hidet.toolchain.host import ended_together
from hidet.tuning.interrupt import undisturbed

T = TypeVar("T")
R = TypeVar("R")

TITLE = 32
"""Columns of a bar that are its title's."""
LOOK = 0.2
"""Seconds after which one who waits for threads looks whether Ctrl-C was pressed."""


def jobs() -> int:
    """How many compilers may be at work at once."""
    return options.jobs.get() or cores()


class Crew(Generic[T, R]):
    """Threads that do `work` of each item as it comes in, each item once.

    Leaving the block by an error, or Ctrl-C, stops what has not begun and ends compilers. Options
    are for the workers what they are where an item is started.
    """

    def __init__(self, work: Callable[[T], R], count: int | None = None) -> None:
        self.work, self.count = work, count or jobs()
        self.futures: dict[T, Future[R]] = {}
        self.together = ended_together()

    def __enter__(self) -> Crew[T, R]:
        self.compilers = self.together.__enter__()
        self.pool = ThreadPoolExecutor(self.count, thread_name_prefix="hidet-compile")
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: Any) -> None:
        try:
            if kind is not None:
                self.pool.shutdown(wait=False, cancel_futures=True)
                self.compilers.end()
            self.pool.shutdown()
        finally:
            self.together.__exit__(kind, *rest)

    def start(self, item: T) -> None:
        """Let the next free thread take an item."""
        if item not in self.futures:
            with undisturbed():
                self.futures[item] = self.pool.submit(line_context().run, self.work, item)

    def results(self, items: Sequence[T], title: str) -> list[R]:
        """What became of the items, in their order; the first error is raised."""
        for item in items:
            self.start(item)
        mine = [self.futures[item] for item in items]
        for done in shown(as_done(mine), len(set(mine)), title):
            done.result()
        return [future.result() for future in mine]


def as_done(futures: Iterable[Future[R]]) -> Iterator[Future[R]]:
    """The futures as each is done."""
    left = set(futures)
    while left:
        done = awaited(left)
        yield from done
        left -= done


def awaited(futures: Collection[Future[R]], seconds: float = inf) -> set[Future[R]]:
    """Those that are done, once one is, or after so many seconds; Ctrl-C ends the wait soon.

    The system may interrupt any thread for it, and Python acts only when the main one goes on.
    """
    end = monotonic() + seconds
    while True:
        with undisturbed():
            left = max(0.0, min(LOOK, end - monotonic()))
            done = wait(futures, left, FIRST_COMPLETED).done
        if done or monotonic() >= end:
            return done


def in_parallel(work: Callable[[T], R], items: Sequence[T], title: str) -> list[R]:
    """`work` of each item, in their order; the first error, or Ctrl-C, stops all others."""
    if len(items) == 1:
        return [work(items[0])]
    with Crew(work) as crew:
        return crew.results(items, title)


def shown(steps, total: int, title: str):  # type: ignore[no-untyped-def]
    """The steps, with a progress bar of at most 80 columns if somebody is looking."""
    return tqdm(
        steps,
        total=total,
        desc=short(title, TITLE),
        disable=not is_watched(),
        leave=False,
        unit="kernel",
        ncols=COLUMNS,
    )
