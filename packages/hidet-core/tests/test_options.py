"""Options: typed, scoped, and read from the environment."""

import threading

import pytest

from hidet.errors import BadArgument
from hidet.options import (
    OPTIONS,
    check,
    code_key,
    code_values,
    jobs,
    options,
    parallel_k,
    search_space,
    tf32,
)


def test_every_option_has_a_line_of_documentation_and_a_fitting_default():
    for name, option in OPTIONS.items():
        assert option.name == name
        assert option.doc.endswith(".")
        assert option.checked(option.default) == option.default


def test_scopes_nest_and_end():
    before = jobs.get()
    with options(jobs=3):
        with options(jobs=5, tf32=True):
            assert (jobs.get(), tf32.get()) == (5, True)
        assert jobs.get() == 3
    assert jobs.get() == before


def test_scopes_end_at_an_error():
    with pytest.raises(KeyError), options(jobs=3):
        raise KeyError("x")
    assert jobs.get() == 0


def test_the_environment_sets_and_a_scope_overrides(monkeypatch):
    monkeypatch.setenv("HIDET_SEARCH_SPACE", "2")
    monkeypatch.setenv("HIDET_TF32", "on")
    assert search_space.get() == 2
    assert tf32.get() is True
    with options(search_space=0):
        assert search_space.get() == 0


def test_bad_values_are_refused(monkeypatch):
    for name, value in (("search_space", 7), ("jobs", "many"), ("check", "yes")):
        with pytest.raises(BadArgument), options(**{name: value}):
            pass
    monkeypatch.setenv("HIDET_JOBS", "many")
    with pytest.raises(BadArgument, match=r"HIDET_JOBS.*\n.*use a whole number"):
        jobs.get()
    monkeypatch.setenv("HIDET_CHECK", "maybe")
    with pytest.raises(BadArgument, match=r"HIDET_CHECK.*\n.*use true or false"):
        check.get()
    monkeypatch.setenv("HIDET_SEARCH_SPACE", "9")
    with pytest.raises(BadArgument, match="use one of"):
        search_space.get()


def test_an_option_may_be_a_word_or_a_number(monkeypatch):
    for value in ("search", "disabled", 1, 16):
        with options(parallel_k=value):
            assert parallel_k.get() == value
    for value in ("all", 0, 17, True, 2.0):
        with pytest.raises(BadArgument, match="'disabled', 1 to 16"), options(parallel_k=value):
            pass
    monkeypatch.setenv("HIDET_PARALLEL_K", "8")
    assert parallel_k.get() == 8


def test_a_misspelled_option_names_the_nearest():
    with pytest.raises(BadArgument, match="did you mean 'search_space'"), options(serch_space=1):
        pass


def test_scopes_do_not_leak_into_other_threads():
    seen = []
    with options(jobs=9):
        thread = threading.Thread(target=lambda: seen.append(jobs.get()))
        thread.start()
        thread.join()
    assert seen == [0]


def test_only_options_that_affect_code_enter_the_key():
    changing = {"target", "precision", "fp16_reduction", "tf32", "mma", "round_each"}
    by_choice = {"parallel_k", "variants", "fusion", "attention", "overlap_launches", "in_place"}
    assert set(code_key()) == changing | by_choice
    assert code_values() == tuple(code_key().values())
    with options(tf32=True, jobs=7):
        assert code_key()["tf32"] is True
