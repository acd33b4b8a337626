"""Whole calls decide: what was fastest alone is measured among its neighbours, in the graph.

Alone and again and again a kernel has other caches, other neighbours and another clock than in a
call, and of many candidates that are about as fast the luckiest wins. So the cost model's schedules
compete to the end, and others stay only where whole calls are faster with them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Protocol, TypeAlias

from hidet.build.measured.tuning_facts import Subject
from hidet.errors import HidetError
from hidet.fusion.group import Group
from hidet.schedules.base import Choice
from hidet.tuning.duel import WORTH, Ratio, compared, is_past
from hidet.tuning.report import LOG

Lineup: TypeAlias = dict[Subject, Choice | None]
"""How each group is scheduled; None: as the cost model says."""
COMPARE_SECONDS = 10.0
"""How long whole calls of two lineups are compared at most."""
Gain: TypeAlias = tuple[Subject, Choice | None, float]
"""A group, a choice for it, and the seconds of a call that it saves."""
ROUNDS = 3
"""How often the kernels of two lineups are timed, in turns."""
GATHERED = 3
"""Lineups that there is time for when the last of all ranks has been played: these are the ranks'
harvest."""
SEEN = 0.002
"""What part of a call choices have to save together to be looked for among others: whole calls
hardly show less."""


class Runs(Protocol):
    """A graph that runs: a `Network`."""

    def seconds(self) -> float:
        """The time of a call."""

    def kernels(self) -> dict[str, float]:
        """The seconds of one run of each kernel in a call, by name."""

    def close(self) -> None:
        """Give back its memory."""


@dataclass(frozen=True)
class Entry:
    """A lineup that runs; `names` are those of the kernels of each of its groups."""

    lineup: Lineup
    runs: Runs
    names: Mapping[Subject, Sequence[str]]

    def shares(self) -> dict[Subject, float]:
        """The seconds of each group in a call."""
        took = self.runs.kernels()
        return {s: sum(took.get(n, 0.0) for n in names) for s, names in self.names.items()}


class Finals:
    """The lineups of a graph on their way to the one that is kept.

    `rivals` are the choices for each group, first the cost model's. `load` makes what runs of the
    choices that the groups have, and `kernels` names those of a group. What was the best `before`
    competes.
    """

    def __init__(
        self,
        alike: Mapping[Subject, Sequence[Group]],
        rivals: Mapping[Subject, Sequence[Choice | None]],
        load: Callable[[], Runs],
        kernels: Callable[[Group], Sequence[str]],
        until: float | None = None,
        before: Lineup | None = None,
    ) -> None:
        self.alike, self.rivals, self.load, self.kernels = alike, rivals, load, kernels
        self.until, self.before = until, before
        self.ranks = max(map(len, rivals.values()))
        self.plain = self.best = self.ranked(0)
        self.ratios: list[tuple[Lineup, Ratio]] = []
        """What was measured as a whole, by the cost model's lineup."""
        self.found: dict[Subject, dict[Choice | None, list[float]]] = {}
        """What part of the time of the cost model's choice others took among their neighbours."""
        self.took: dict[Subject, float] = {}
        """Seconds of each group in a call with the cost model's choices."""
        self.longest = 0.0
        """Seconds that one lineup took."""
        self.complete = False

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return is_past(self.until)

    def run(self) -> None:
        """Play all; `best` is right at any time, also after Ctrl-C or an error."""
        with self.playing(self.plain) as plain:
            played = self.play_ranks(plain)
            self.gather(plain)
        self.complete = played and not self.late

    def play_ranks(self, plain: Entry) -> bool:
        """Play the choices of each rank; False where the rest of the time is for what they show."""
        for rank in range(1, self.ranks):
            reserved = (1 + GATHERED) * self.longest if rank > 1 else 0.0
            if self.late or (self.until is not None and is_past(self.until - reserved)):
                return False
            self.play(self.ranked(rank), partial(self.judge, plain))
        return True

    def ranked(self, rank: int) -> Lineup:
        """All groups at the choice of a rank; those without one as the cost model says."""
        return {s: found[rank if rank < len(found) else 0] for s, found in self.rivals.items()}

    @contextmanager
    def playing(self, lineup: Lineup) -> Iterator[Entry]:
        """A lineup that runs in this block."""
        for subject, choice in lineup.items():
            for group in self.alike[subject]:
                group.choice = choice
        runs = self.load()
        try:
            names = {s: self.kernels(groups[0]) for s, groups in self.alike.items()}
            yield Entry(lineup, runs, names)
        finally:
            runs.close()

    def play(self, lineup: Lineup, measure: Callable[[Entry], None]) -> None:
        """Measure a lineup; one that cannot be built is told and left."""
        start = time.monotonic()
        try:
            with self.playing(lineup) as entry:
                measure(entry)
        except HidetError as error:
            LOG.info("%d other schedules together are left: %s", self.others(lineup), error)
        self.longest = max(self.longest, time.monotonic() - start)

    def compare(self, plain: Entry, entry: Entry) -> None:
        """Measure whole calls of a lineup, and let it be the best if they are the fastest."""
        until = time.monotonic() + COMPARE_SECONDS
        until = until if self.until is None else min(until, self.until)
        ratio = compared(plain.runs.seconds, entry.runs.seconds, until)
        self.ratios.append((entry.lineup, ratio))
        LOG.info(
            "a call takes %.1f us, with %d other schedules %.3f (+- %.3f) of that",
            1e6 * ratio.first,
            self.others(entry.lineup),
            ratio.value,
            ratio.error,
        )
        self.best = self.quickest()

    def others(self, lineup: Lineup) -> int:
        """How many groups are not as the cost model says."""
        return sum(choice != self.plain[s] for s, choice in lineup.items())

    def quickest(self) -> Lineup:
        """The lineup whose calls are the fastest; the cost model's unless another is surely so."""
        gains = [(ratio.value, i) for i, (_, ratio) in enumerate(self.ratios) if ratio.is_gain]
        return self.ratios[min(gains)[1]][0] if gains else self.plain

    def judge(self, plain: Entry, entry: Entry) -> None:
        """Note what the groups of a lineup take among their neighbours; where nothing better is
        known, or there is no other, measure whole calls while it is there."""
        for _ in range(ROUNDS):
            before, after = plain.shares(), entry.shares()
            for subject, choice in entry.lineup.items():
                if choice != self.plain[subject] and before[subject] > 0:
                    known = self.found.setdefault(subject, {})
                    known.setdefault(choice, []).append(after[subject] / before[subject])
                    self.took[subject] = before[subject] * len(self.alike[subject])
        if self.ranks == 2 or entry.lineup == self.together(self.gains()):
            self.compare(plain, entry)

    def gather(self, plain: Entry) -> None:
        """Play what was best before, then what was best of each group together, or the parts of it
        that are a gain; then what was fastest alone."""
        self.challenge(plain, self.before or self.plain)
        self.challenge(plain, self.together(self.proven(plain, self.gains())))
        self.challenge(plain, self.ranked(1))

    def proven(self, plain: Entry, gains: Sequence[Gain]) -> list[Gain]:
        """Those of some gains of kernels that whole calls show too: all, or what each half has."""
        ratio = self.challenge(plain, self.together(gains))
        if ratio is None or ratio.is_gain:
            return [] if ratio is None else list(gains)
        half = len(gains) // 2
        if not half or sum(saved for *_, saved in gains) < SEEN * ratio.first:
            return []
        return self.proven(plain, gains[:half]) + self.proven(plain, gains[half:])

    def challenge(self, plain: Entry, lineup: Lineup) -> Ratio | None:
        """Play whole calls of a lineup, unless that was done; None where there is nothing to play,
        no time, or it cannot be built."""
        known = [ratio for found, ratio in self.ratios if found == lineup]
        if known or lineup == self.plain or self.late:
            return known[0] if known else None
        self.play(lineup, partial(self.compare, plain))
        return next((ratio for found, ratio in self.ratios if found == lineup), None)

    def together(self, gains: Sequence[Gain]) -> Lineup:
        """The lineup with these choices, the others as the cost model says."""
        return self.plain | {subject: choice for subject, choice, _ in gains}

    def gains(self) -> list[Gain]:
        """The groups that were faster among their neighbours in each round, with their fastest
        choices, what saves most first."""
        found = []
        for subject, ratios in self.found.items():
            sure = {c: median(r) for c, r in ratios.items() if max(r) < 1}
            choice = min(sure, key=sure.__getitem__, default=None)
            if choice in sure and sure[choice] < WORTH:
                found.append((subject, choice, (1 - sure[choice]) * self.took[subject]))
        return sorted(found, key=lambda each: -each[2])
