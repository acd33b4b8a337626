"""Processes that score cases side by side; one that dies or hangs costs only its case.

The parent has one thread and touches no device, so it may fork whenever a process has to be
replaced.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait

from ci.suites.score import Score

FORK = multiprocessing.get_context("fork")
CASES = 200
"""Cases that a process scores before a fresh one replaces it: what they leave behind adds up."""
Job = Callable[[str], Score]


class Worker:
    """A process with the case that it is at, and when it has to be done with it."""

    def __init__(self, job: Job) -> None:
        self.connection, other = FORK.Pipe()
        self.process = FORK.Process(target=serve, args=(other, job), daemon=True)
        self.process.start()
        other.close()
        self.name, self.deadline, self.left = "", 0.0, CASES

    def begin(self, name: str, limit: float) -> None:
        """Have it score a case."""
        self.name, self.deadline, self.left = name, time.monotonic() + limit, self.left - 1
        self.connection.send(name)

    def result(self) -> Score:
        """What it says of its case, or how it died."""
        try:
            found: Score = self.connection.recv()
            return found
        except EOFError:
            self.process.join()
            return Score(self.name, f"ended its process: {self.process.exitcode}")

    def end(self) -> None:
        """Stop it, whatever it is at."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def serve(connection: Connection, job: Job) -> None:
    """What a process does."""
    while True:
        connection.send(job(connection.recv()))


def scores(
    names: Sequence[str], job: Job, jobs: int, limit: float, seconds: float
) -> Iterator[Score]:
    """The scores of cases as they are found, `limit` seconds at most for each.

    After so many `seconds` it stops, and what is under way has no score.
    """
    end = time.monotonic() + seconds
    waiting = list(reversed(names))
    busy: dict[Connection, Worker] = {}
    idle: list[Worker] = []
    try:
        while (waiting or busy) and time.monotonic() < end:
            while waiting and len(busy) < jobs:
                worker = idle.pop() if idle else Worker(job)
                worker.begin(waiting.pop(), limit)
                busy[worker.connection] = worker
            for worker in ready(busy, end):
                del busy[worker.connection]
                found = taken(worker, limit)
                yield found
                # An error may have left the device of a process useless for what comes next.
                if found.is_right and worker.left:
                    idle.append(worker)
                else:
                    worker.end()
    finally:
        for worker in (*busy.values(), *idle):
            worker.end()


def ready(busy: dict[Connection, Worker], end: float) -> list[Worker]:
    """The workers that have a result, or no more time; after `end` none."""
    until = min(end, *(each.deadline for each in busy.values()))
    found = wait(list(busy), max(0.0, until - time.monotonic()))
    now = time.monotonic()
    if now >= end:
        return []
    return [w for connection, w in busy.items() if connection in found or w.deadline <= now]


def taken(worker: Worker, limit: float) -> Score:
    """The result of a worker that is ready."""
    if worker.connection.poll():
        return worker.result()
    return Score(worker.name, f"no result within {limit:g} seconds")
