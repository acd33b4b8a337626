"""Two programs measured in turns: when a difference counts, and when noise could have made it."""

import pytest

from hidet.tuning import duel
from hidet.tuning.duel import LEAST, MOST, compared, error_of, ratio_of


@pytest.fixture(autouse=True)
def given_clock(monkeypatch, clock):
    monkeypatch.setattr(duel, "time", clock)


def series(values):
    """A program whose measurements are these, over and over; `taken` counts them."""

    def measured():
        measured.taken += 1
        return values[measured.taken % len(values)]

    measured.taken = 0
    return measured


def test_a_clear_difference_ends_early():
    first, second = series([1.0, 1.01]), series([0.8, 0.81])
    found = compared(first, second)
    assert found.is_gain
    assert found.value == pytest.approx(0.8, rel=0.02)
    assert first.taken == second.taken == LEAST


def test_noise_is_no_gain():
    noisy = [1.0, 1.3, 0.9, 1.1, 0.8]
    first, second = series(noisy), series([0.98 * each for each in noisy[::-1]])
    found = compared(first, second)
    assert not found.is_decided
    assert not found.is_gain
    assert first.taken == MOST


def test_less_than_a_hundredth_is_not_worth_while():
    found = compared(series([1.0]), series([0.995]))
    assert found.is_decided
    assert not found.is_gain


def test_a_slower_one_is_no_gain():
    found = compared(series([1.0]), series([1.5]))
    assert found.is_decided
    assert not found.is_gain
    assert (found.first, found.second) == (1.0, 1.5)


def test_a_machine_that_gets_slower_is_so_for_both(clock):
    def drifting(seconds):
        def measured():
            clock.sleep(1.0)
            return seconds * (1 + 0.2 * clock.now)

        return measured

    # Alone, each would seem to take more than twice as long after a few rounds.
    assert compared(drifting(1.0), drifting(0.9)).value == pytest.approx(0.9, rel=0.1)


def test_who_is_first_changes():
    order = []
    compared(lambda: order.append("a") or 1.0, lambda: order.append("b") or 1.0)
    assert "".join(order[:8]) == "abbaabba"


def test_it_ends_with_the_time(clock):
    def slow():
        clock.sleep(1.0)
        return 1.0

    first = series([1.0])
    found = compared(first, slow, until=2.0)
    assert first.taken == duel.FEW
    assert found.value == 1.0


def test_errors_of_medians():
    assert error_of([1.0, 1.0, 1.0]) == 0.0
    many = error_of([0.9, 1.0, 1.1] * 30)
    assert 0 < many < error_of([0.9, 1.0, 1.1])
    assert ratio_of([(2.0, 1.0)]).value == 0.5
