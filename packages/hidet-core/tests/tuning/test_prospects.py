"""What is left of a space: no candidate that may be the fastest goes."""

import random

import pytest

from hidet.schedules.base import Choice
from hidet.tuning.prospects import ENOUGH, SLACK, Prospects

CHOICES = [Choice("a", number) for number in range(100)]


def prospects(noise=1.0, choices=CHOICES):
    return Prospects({each: 1.0 + each.point for each in choices}, noise)


def test_nothing_is_left_out_before_enough_is_known():
    found = prospects()
    for each in CHOICES[: ENOUGH - 1]:
        found.measured(each, 50.0)
    assert found.least(CHOICES[99]) == 0.0
    found.measured(CHOICES[ENOUGH], 50.0)
    assert found.least(CHOICES[99]) > 100.0


def test_the_least_error_of_the_schedule_counts_but_for_a_part():
    found = prospects()
    for each in CHOICES[:ENOUGH]:
        found.measured(each, 1.0 + each.point + 10.0 + each.point)
    assert found.least(CHOICES[50]) == pytest.approx(51.0 + 10.0 * (1 - SLACK))
    assert found.least(Choice("b", 3)) == 0.0


def test_where_the_model_is_not_optimistic_the_slack_is_added():
    found = prospects()
    for each in CHOICES[:ENOUGH]:
        found.measured(each, max(0.5, 1.0 + each.point - 4.0))
    assert found.least(CHOICES[50]) == pytest.approx(51.0 - 4.0 * (1 + SLACK))


def test_times_taken_beside_compilers_may_be_shorter_in_truth():
    found = prospects(noise=2.0)
    for each in CHOICES[:ENOUGH]:
        found.measured(each, 2 * (1.0 + each.point + 10.0))
    assert found.least(CHOICES[50]) == pytest.approx(51.0 + 10.0 * (1 - SLACK))


def test_the_fastest_is_found_where_errors_are_as_seen():
    source = random.Random(0)
    for _ in range(50):
        extra = {each: 5.0 + source.expovariate(0.3) for each in CHOICES}
        found, best, seen = prospects(), float("inf"), 0
        for each in CHOICES:
            if found.least(each) <= best:
                time = 1.0 + each.point + extra[each]
                found.measured(each, time)
                best, seen = min(best, time), seen + 1
        assert best == min(1.0 + each.point + extra[each] for each in CHOICES)
        assert seen < 40


def test_a_candidate_alone_promises_nothing():
    assert prospects().gain(CHOICES[:1]) == 0.0
    assert prospects().gain([]) == 0.0


def test_many_near_the_best_promise_more_than_a_few_far_away():
    near = Prospects({each: 10.0 + 0.1 * each.point for each in CHOICES}, 1.0)
    far = Prospects({each: 10.0 * (1 + each.point) for each in CHOICES}, 1.0)
    assert near.gain(CHOICES[:8]) > near.gain(CHOICES[:2]) > 0.0
    assert far.gain(CHOICES[:8]) < 0.01 * near.gain(CHOICES[:8])


def test_what_was_measured_says_what_others_may_save():
    """Estimates are half of what is measured; one is much faster than that: none will be again."""
    found = Prospects({each: 10.0 + 0.1 * each.point for each in CHOICES}, 1.0)
    for each in CHOICES[:4]:
        found.measured(each, 2 * found.estimates[each])
    usual = found.gain(CHOICES[4:12])
    assert usual > 0.0
    found.measured(CHOICES[4], 10.0)
    assert found.gain(CHOICES[5:12]) < 0.01 * usual


def test_a_candidate_that_cannot_be_the_best_promises_nothing():
    found = prospects()
    for each in CHOICES[:ENOUGH]:
        found.measured(each, 1.0 + each.point)
    assert found.gain(CHOICES[50:]) == 0.0
