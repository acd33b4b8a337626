import pytest

from ci import gpu_suite
from ci.gpu_suite import (
    Outcome,
    Run,
    copy_tests,
    main,
    outcome,
    run_tests,
    table,
    verdict,
    wheels_to_install,
)
from ci.gpus import Lanes

HEAD = "import os, pytest, time\npytestmark = pytest.mark.gpu\n"


def test_without_wheels_it_says_how_to_get_them(tmp_path, capsys):
    assert main(["--dist", str(tmp_path)]) == 2
    assert "nox -s wheels" in capsys.readouterr().out


def test_dependencies_are_installed_only_where_absent(tmp_path):
    (tmp_path / "dependencies").mkdir()
    for name in ("hidet_core-1-py3-none-any.whl", "dependencies/pytest-8-py3-none-any.whl"):
        (tmp_path / name).touch()
    missing = tmp_path / "dependencies" / "not_on_any_machine-1-py3-none-any.whl"
    missing.touch()
    expected = [tmp_path / "hidet_core-1-py3-none-any.whl", missing]
    assert wheels_to_install(tmp_path) == expected


def test_tests_travel_without_sources(tmp_path):
    root, folder = tmp_path / "root", tmp_path / "copy"
    for path in ("packages/hidet-x/tests/test_a.py", "packages/hidet-x/src/hidet_x/__init__.py"):
        (root / path).parent.mkdir(parents=True)
        (root / path).touch()
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    folder.mkdir()
    copy_tests(root, folder)
    files = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
    assert files == ["packages/hidet-x/tests/test_a.py", "pyproject.toml"]


@pytest.mark.parametrize(
    ("passed", "failed", "status", "expected"),
    [(3, 0, 0, 0), (3, 1, 1, 1), (0, 0, 5, 0), (0, 0, 2, 1), (3, 0, -11, 1)],
)
def test_a_run_that_broke_has_a_failure(passed, failed, status, expected):
    assert outcome("x", passed, failed, status).failed == expected


def test_a_suite_that_ran_nothing_does_not_pass():
    empty, good, bad = (Outcome("x", p, f, 0) for p, f in ((0, 0), (4, 0), (4, 1)))
    assert [verdict([empty]), verdict([empty, good]), verdict([good, bad])] == [1, 0, 1]


def test_the_table_ends_with_the_totals():
    rows = [Outcome("hidet-core", 7, 1, 1), Outcome("hidet-tf", 0, 0, gpu_suite.NO_TESTS)]
    text = table(rows, {"commit": "abc", "gpu": "none"})
    assert "no test marked gpu" in text
    assert text.splitlines()[-1] == "7 passed, 1 failed"


@pytest.fixture
def marked(tmp_path):
    """The folder of tests of a package x: one file for a GPU, one without; more may be added."""
    tests = tmp_path / "packages" / "hidet-x" / "tests"
    tests.mkdir(parents=True)
    (tmp_path / "site").mkdir()
    settings = '[tool.pytest.ini_options]\naddopts = "-q"\nmarkers = ["gpu"]\n'
    (tmp_path / "pyproject.toml").write_text(settings)
    (tests / "test_good.py").write_text(HEAD + "def test_a(): pass\ndef test_b(): pass\n")
    (tests / "test_other.py").write_text("def test_d(): pass\n")
    return tests


def suite(folder, seconds=60.0, arguments=()):
    return run_tests(Run(folder, arguments, Lanes(2, ["0"]), seconds), ["hidet-x"])


def test_a_file_that_breaks_takes_no_other_along(tmp_path, marked):
    (marked / "test_bad.py").write_text(HEAD + "def test_c(): os._exit(3)\n")
    assert suite(tmp_path) == [Outcome("hidet-x", 2, 1, 3)]


def test_a_file_that_hangs_is_ended_and_says_where_it_was(tmp_path, marked, capfd):
    hangs = "def test_c():\n    for _ in range(1000): time.sleep(0.1)\n"
    (marked / "test_bad.py").write_text(HEAD + hangs)
    outcomes = suite(tmp_path, 4.0, ["-o=faulthandler_timeout=1"])
    assert outcomes == [Outcome("hidet-x", 2, 1, gpu_suite.HANGS)]
    said = capfd.readouterr().out
    assert "did not end in 4 s  packages/hidet-x/tests/test_bad.py" in said
    assert "in test_c" in said


def test_arguments_choose_the_files_that_are_run(tmp_path, marked, capfd):
    (marked / "test_bad.py").write_text(HEAD + "def test_c(): os._exit(3)\n")
    assert suite(tmp_path, arguments=["-k", "test_a"]) == [Outcome("hidet-x", 1, 0, 0)]
    assert "test_bad" not in capfd.readouterr().out
