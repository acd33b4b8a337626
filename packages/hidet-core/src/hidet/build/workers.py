"""Work done in threads, with a progress bar: compilers run outside of Python's lock."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from typing import TypeVar

from tqdm import tqdm

from hidet import options
from hidet.toolchain.host import ended_together

T = TypeVar("T")
R = TypeVar("R")


def jobs() -> int:
    """How many compilers may be at work at once."""
    return options.jobs.get() or len(os.sched_getaffinity(0))


def in_parallel(work: Callable[[T], R], items: Sequence[T], title: str) -> list[R]:
    """`work` of each item, in their order; the first error, or Ctrl-C, stops all others.

    Options are for the workers what they are for the caller.
    """
    if len(items) == 1:
        return [work(items[0])]
    with ended_together() as compilers, ThreadPoolExecutor(max(1, min(jobs(), len(items)))) as pool:
        futures = [pool.submit(copy_context().run, work, item) for item in items]
        try:
            for done in shown(as_completed(futures), len(items), title):
                done.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            compilers.end()
            raise
        return [future.result() for future in futures]


def shown(steps, total: int, title: str):  # type: ignore[no-untyped-def]
    """The steps, with a progress bar if somebody is looking."""
    quiet = not options.progress.get() or not sys.stderr.isatty()
    return tqdm(steps, total=total, desc=title, disable=quiet, leave=False, unit="kernel")
