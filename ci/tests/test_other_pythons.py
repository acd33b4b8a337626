from pathlib import Path

from ci.other_pythons import KERNELS, NUMBERS, left_out

TESTS = Path(__file__).parents[2] / "packages/hidet-core/tests"


def test_what_is_left_out_is_there():
    assert [each for each in (*KERNELS, *NUMBERS) if not (TESTS / each).exists()] == []


def test_arguments_are_pytest_s():
    assert "--ignore=some/tests/codegen" in left_out("some/tests")
