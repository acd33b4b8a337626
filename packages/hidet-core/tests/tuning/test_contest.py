"""Contests of made-up candidates: who wins, who is dropped early, and what an end leaves."""

from dataclasses import dataclass
from statistics import median

import pytest

from hidet.schedules.base import Choice
from hidet.tuning.contest import Contest, Refused
from hidet.tuning.prospects import ENOUGH, Prospects
from hidet.tuning.report import Bar


@pytest.fixture(autouse=True)
def no_time_passes(monkeypatch, clock):
    """Except where a test says so: no contest ends because the machine is busy."""
    monkeypatch.setattr("hidet.tuning.contest.time", clock)


@dataclass(frozen=True)
class At:
    """A point: how long it takes."""

    seconds: float


class FakeBench:
    """Candidates whose point is their time; negative ones fail."""

    ahead = 3
    noise = 1.0

    def __init__(self, drift=0.0):
        self.log, self.measured, self.drift = [], 0, drift
        self.at_work = False

    def start(self, choice):
        self.log.append(("start", choice.point.seconds))

    def spare(self):
        self.log.append(("spare", 0.0))

    def ready(self, choices, seconds):
        return choices[0]

    def check(self, choice):
        self.log.append(("check", choice.point.seconds))
        if choice.point.seconds < 0:
            raise Refused("nonsense")

    def time(self, choice, repeats):
        assert not self.at_work
        self.at_work = True
        self.measured += repeats
        self.log += [("time", choice.point.seconds)] * repeats
        self.at_work = False
        return [choice.point.seconds * (1 + self.drift * self.measured)] * repeats

    def typical(self, times):
        return median(times)


def contest_of(points, bench=None, until=None):
    candidates = [Choice("made_up", At(each)) for each in points]
    bench = bench or FakeBench()
    return Contest(candidates, bench, Bar("test", len(points)), until), bench


def test_the_fastest_wins_and_each_is_measured_by_its_standing():
    contest, bench = contest_of([3.0, 1.0, 1.2, 9.0, 2.0])
    contest.run()
    assert contest.complete
    assert contest.winner.point.seconds == 1.0
    counts = {p: bench.log.count(("time", p)) for p in (1.0, 1.2, 9.0)}
    assert counts[9.0] == 1  # one look was enough
    assert counts[1.0] >= counts[1.2] > counts[9.0]
    assert [each.seconds for each in contest.trials] == sorted([3.0, 1.0, 1.2, 9.0, 2.0])


def test_candidates_compile_ahead_while_others_are_measured():
    contest, bench = contest_of([1.0, 2.0, 3.0, 4.0, 5.0])
    contest.run()
    steps = [each for each in bench.log if each[0] in ("start", "check")]
    assert steps[:5] == [
        ("start", 1.0), ("start", 2.0), ("start", 3.0), ("check", 1.0), ("start", 4.0)
    ]  # fmt: skip


def test_a_device_that_gets_slower_is_so_for_all():
    contest, _ = contest_of([1.0, 1.05, 0.9], FakeBench(drift=0.01))
    contest.run()
    assert contest.winner.point.seconds == 0.9


def test_the_cost_model_decides_what_noise_could_have():
    contest, _ = contest_of([1.0, 0.99, 0.985])
    contest.run()
    assert contest.winner.point.seconds == 1.0


def test_a_refused_candidate_is_never_chosen_and_keeps_its_reason():
    contest, _ = contest_of([2.0, -1.0, 1.0])
    contest.run()
    assert contest.winner.point.seconds == 1.0
    (refused,) = [each for each in contest.trials if each.seconds is None]
    assert refused.reason == "nonsense"


def test_one_that_fails_only_later_is_refused_too():
    class Failing(FakeBench):
        def time(self, choice, repeats):
            if choice.point.seconds == 1.0 and self.measured > 8:
                raise Refused("it crashed")
            return super().time(choice, repeats)

    contest, _ = contest_of([3.0, 1.0, 1.1], Failing())
    contest.run()
    assert contest.winner.point.seconds == 1.1
    assert [each.reason for each in contest.trials if each.seconds is None] == ["it crashed"]


def test_nothing_is_chosen_if_all_fail():
    contest, _ = contest_of([-1.0, -2.0])
    contest.run()
    assert contest.winner is None
    assert contest.complete


def test_a_deadline_keeps_the_best_so_far(clock):
    class Slow(FakeBench):
        def time(self, choice, repeats):
            clock.sleep(0.02)
            return super().time(choice, repeats)

    contest, _ = contest_of([5.0, 1.0, *range(6, 300)], Slow(), 0.2)
    contest.run()
    assert not contest.complete
    assert contest.winner.point.seconds == 1.0
    assert 2 <= len(contest.trials) < 10


def test_a_deadline_does_not_wait_for_a_compiler(clock):
    class Stuck(FakeBench):
        def ready(self, choices, seconds):
            if choices[0].point.seconds == 2.0:
                clock.sleep(seconds)
                return None
            return choices[0]

    contest, _ = contest_of([1.0, 2.0], Stuck(), 0.1)
    contest.run()
    assert clock.now == pytest.approx(0.1)
    assert contest.winner.point.seconds == 1.0


def test_what_cannot_be_the_best_is_not_compiled():
    """Each takes three times what is expected of it, or more."""
    points = [3.0 * each for each in range(1, 60)]
    candidates = [Choice("made_up", At(each)) for each in points]
    estimates = {each: each.point.seconds / 3 for each in candidates}
    bench = FakeBench()
    prospects = Prospects(estimates, bench.noise)
    contest = Contest(candidates, bench, Bar("test", 60), prospects=prospects)
    contest.run()
    assert contest.complete
    assert contest.winner.point.seconds == 3.0
    compiled = [each[1] for each in bench.log if each[0] == "start"]
    assert compiled == points[: len(compiled)]
    assert ENOUGH <= len(compiled) <= ENOUGH + bench.ahead
    assert [each.point.seconds for each in contest.hopeless] == points[len(compiled) :]
    assert len(contest.trials) == len(compiled)


def test_a_schedule_of_which_little_is_known_is_looked_at():
    many = [Choice("made_up", At(3.0 * each)) for each in range(1, 40)]
    other = Choice("another", At(0.5))
    estimates = {each: each.point.seconds / 3 for each in many} | {other: 100.0}
    prospects = Prospects(estimates, FakeBench.noise)
    contest = Contest([*many, other], FakeBench(), Bar("test", 40), prospects=prospects)
    contest.run()
    assert contest.winner == other


def test_an_interrupt_keeps_the_best_so_far():
    class Interrupted(FakeBench):
        def check(self, choice):
            if choice.point.seconds == 7.0:
                raise KeyboardInterrupt
            super().check(choice)

    contest, _ = contest_of([3.0, 2.0, 7.0, 1.0], Interrupted())
    with pytest.raises(KeyboardInterrupt):
        contest.run()
    assert not contest.complete
    assert contest.winner.point.seconds == 2.0
