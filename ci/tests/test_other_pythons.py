from pathlib import Path

from ci.other_pythons import KERNELS, NUMBERS, left_out

TESTS = Path(__file__).parents[2] / "packages/hidet-core/tests"


def test_what_is_left_out_is_there():
    assert [each for each in (*KERNELS, *NUMBERS) if not (TESTS / each).exists()] == []


def test_arguments_are_pytest_s():
    assert "--ignore=some/tests/codegen" in left_out("some/tests")


def test_the_python_of_every_operator_runs_everywhere():
    for folder in ("ops", "optimize"):
        assert (TESTS / folder / "test_every_operator.py").exists()
        assert f"--ignore=tests/{folder}/test_every_operator.py" not in left_out("tests")
        assert f"--ignore=tests/{folder}" not in left_out("tests")
