"""The line that a warning names."""

import functools
import sysconfig
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hidet
from hidet.errors import warning

PACKAGE = Path(hidet.__file__).parent
STDLIB = sysconfig.get_path("stdlib")


def named(file):
    """The file that a warning names which a line of `file` gives."""
    code = compile("warn(UserWarning('look'))", str(file), "exec")
    with pytest.warns(UserWarning, match="look") as said:
        exec(code, {"warn": warning.warn})
    return said[0].filename


@pytest.mark.parametrize(
    "file", [PACKAGE / "build" / "compile.py", functools.__file__, "<frozen importlib._bootstrap>"]
)
def test_lines_of_the_compiler_and_of_python_are_passed_over(file):
    assert named(file) == __file__


@pytest.mark.parametrize(
    "file",
    [f"{STDLIB}/site-packages/transformers/model.py", f"{PACKAGE}_extras/model.py", "<stdin>"],
)
def test_packages_of_others_are_the_users_unless_a_frontend_says_so(file, monkeypatch):
    assert named(file) == file
    monkeypatch.setattr(warning, "_passed_over", list(warning._passed_over))
    warning.pass_over(file)
    assert named(file) == __file__


def test_each_line_is_told_once():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("default")
        for _ in range(3):
            warning.warn(UserWarning("look"))
        warning.warn(UserWarning("look"))
    assert len(said) == 2


def test_a_thread_of_ours_names_the_line_that_it_works_for():
    text = "work = lambda: warn(UserWarning('look'))"
    names = {"warn": warning.warn}
    exec(compile(text, str(PACKAGE / "build" / "workers.py"), "exec"), names)
    context = warning.line_context()
    with ThreadPoolExecutor() as threads, pytest.warns(UserWarning, match="look") as said:
        threads.submit(context.run, names["work"]).result()
    assert said[0].filename == __file__
