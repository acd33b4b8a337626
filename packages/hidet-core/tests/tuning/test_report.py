"""What is said of candidates, and what is not."""

import logging
import warnings

import pytest

from hidet.options import options
from hidet.tuning import TuningWarning
from hidet.tuning.record import Trial
from hidet.tuning.report import Bar, report_refused

FINE = Trial('["a", {}]', 1e-6)


def test_a_wrong_candidate_is_warned_of():
    wrong = Trial('["b", {}]', None, "3 of 20 elements are wrong: 1, not 2")
    with pytest.warns(TuningWarning, match=r"1 of 2 schedules of matmul.*\n.*3 of 20"):
        report_refused("matmul", [FINE, wrong])


def test_points_that_do_not_suit_are_logged_only(caplog):
    spilled = Trial('["b", {}]', None, "registers are spilled (8 bytes)")
    with warnings.catch_warnings(), caplog.at_level(logging.INFO, "hidet.tuning"):
        warnings.simplefilter("error")
        report_refused("matmul", [FINE, spilled])
    assert "spilled" in caplog.text


def test_the_bar_shows_the_best_on_a_terminal_only(capsys, monkeypatch):
    bar = Bar("matmul", 2)
    bar.step(3e-6)
    bar.close()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    bar = Bar("matmul", 2)
    bar.step(3e-6)
    bar.best(2.5e-6)
    bar.shown.refresh()
    bar.close()
    shown = capsys.readouterr().err
    assert "Tuning matmul" in shown
    assert "best 2.5 µs" in shown
    with options(progress=False):
        bar = Bar("matmul", 2)
        bar.step(None)
        bar.close()
    assert capsys.readouterr().err == ""
