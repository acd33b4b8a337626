import pytest

from ci import sessions
from ci.sessions import BUDGETS, Result, count, outcome, table, timed

JUNIT = '<testsuites><testsuite tests="9" errors="1" failures="2" skipped="3"/></testsuites>'


def test_counts_come_from_the_report_of_pytest():
    assert count(JUNIT) == (3, 3)


@pytest.mark.parametrize(
    ("ended_well", "counts", "expected"),
    [
        (True, [], (1, 0)),
        (False, [], (0, 1)),
        (True, [(5, 0), (2, 0)], (7, 0)),
        (False, [(5, 2)], (5, 2)),
        (False, [(5, 0)], (5, 1)),
    ],
)
def test_a_broken_session_is_never_without_a_failure(ended_well, counts, expected):
    assert outcome(ended_well, counts) == expected


def test_the_table_adds_groups_up_and_shouts_when_late():
    results = [
        Result("lint", 40.0, 30, 0),
        Result("types", 30.0, 1, 0),
        Result("tests(hidet-core)", 100.0, 900, 2),
        Result("tests(hidet-core-3.12)", 100.0, 900, 0),
        Result("tests(hidet-onnx)", 5.0, 5, 0),
    ]
    text = table(results)
    assert "OVER BUDGET by 10 s" in text
    assert text.count("OVER BUDGET") == 1
    assert text.splitlines()[-1] == "1836 passed, 2 failed"


def test_what_plain_nox_runs_has_45_minutes():
    assert sum(BUDGETS.values()) - BUDGETS[("demo",)] <= 45 * 60


def test_a_session_that_raises_is_recorded_and_still_raises(monkeypatch):
    monkeypatch.setattr(sessions, "RESULTS", [])

    @timed
    def broken(session):
        raise RuntimeError("broken")

    class Session:
        name = "broken"

    with pytest.raises(RuntimeError, match="broken"):
        broken(Session())
    [result] = sessions.RESULTS
    assert (result.name, result.passed, result.failed) == ("broken", 0, 1)
