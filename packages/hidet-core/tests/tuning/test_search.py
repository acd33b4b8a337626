"""What one search adds to what was known of an operator."""

from dataclasses import dataclass

import pytest

from hidet.schedules.base import Choice
from hidet.tuning import search
from hidet.tuning.record import Record, Trial, name_of
from hidet.tuning.search import KEEP_SECONDS, Keeper, Search


@dataclass(frozen=True)
class At:
    number: int


CHOICES = [Choice("made_up", At(number)) for number in range(5)]
FOUND = {name_of(each): each for each in CHOICES}
NAMES = list(FOUND)


@dataclass
class Ended:
    """A contest that is over."""

    trials: list
    winner: Choice | None
    complete: bool


def numbers(searched):
    return [each.point.number for each in searched.candidates]


def test_the_first_few_or_all_are_measured():
    assert numbers(Search(FOUND, None, 1, 3)) == [0, 1, 2]
    assert numbers(Search(FOUND, None, 2, None)) == [0, 1, 2, 3, 4]


def test_what_is_known_is_left_alone_but_for_the_models_choice_and_the_best():
    before = Record(1, NAMES[2], tuple(Trial(name, 1.0) for name in NAMES[:4]))
    assert numbers(Search(FOUND, before, 2, None)) == [0, 2, 4]
    absent = Record(1, "no longer there", (Trial(NAMES[1], 1.0),))
    assert numbers(Search(FOUND, absent, 2, None)) == [0, 2, 3, 4]


def test_a_record_has_the_level_of_a_search_that_went_to_its_end():
    for complete, level in ((True, 2), (False, 0)):
        searched = Search(FOUND, None, 2, None)
        assert searched.record == Record(0, None, ())
        trials = [Trial(NAMES[3], 1.0), Trial(NAMES[0], 2.0)]
        searched.contest = Ended(trials, CHOICES[3], complete)
        assert searched.record == Record(level, NAMES[3], tuple(trials))


def test_what_was_best_stays_so_until_it_was_measured_again():
    old = (Trial(NAMES[2], 1.0), Trial(NAMES[1], 3.0))
    searched = Search(FOUND, Record(1, NAMES[2], old), 2, None)
    searched.contest = Ended([Trial(NAMES[0], 2.0)], CHOICES[0], False)
    assert searched.record == Record(1, NAMES[2], (Trial(NAMES[0], 2.0), *old))
    again = [Trial(NAMES[0], 2.0), Trial(NAMES[2], 2.5)]
    searched.contest = Ended(again, CHOICES[0], True)
    assert searched.record == Record(2, NAMES[0], (*again, old[1]))


def test_it_is_kept_now_and_then(monkeypatch, clock):
    monkeypatch.setattr(search, "time", clock)
    kept = []
    keeper = Keeper(lambda: kept.append(clock.now))
    for _ in range(10):
        clock.sleep(KEEP_SECONDS / 2)
        keeper()
    assert kept == pytest.approx([KEEP_SECONDS * each for each in range(1, 6)])
