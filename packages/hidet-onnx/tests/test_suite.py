"""Fixed parts of ONNX's official suite, on the CPU and in the simulator.

`nox -s onnx_suite` runs all of it.
"""

from __future__ import annotations

import onnx
import pytest

from hidet.options import options

pytest.importorskip("ci", reason="the suite's runner is not beside tests of installed wheels")
from ci.onnx_suite.cases import cases, selected
from ci.onnx_suite.known import FILE, VERSION
from ci.onnx_suite.score import score
from ci.suites import known
from ci.suites.score import Score

pytestmark = pytest.mark.skipif(
    onnx.__version__ != VERSION, reason=f"the suite is recorded of onnx {VERSION}"
)
KNOWN = known.read(FILE)
TENTH = [case for case in selected(10, 3) if case.kind != "real"]
SIMULATED = [case for case in selected(25, 9) if case.kind != "real"]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory):
    with options(cache_dir=str(tmp_path_factory.mktemp("cache"))):
        yield


@pytest.mark.parametrize("case", TENTH, ids=lambda case: case.name)
def test_a_case_is_as_good_as_it_was(case) -> None:
    assert not known.worse([score(case)], KNOWN)


@pytest.mark.parametrize("case", SIMULATED, ids=lambda case: case.name)
def test_a_case_is_as_good_in_the_simulator(case) -> None:
    assert not known.worse([score(case, "sim")], KNOWN)


def test_what_became_worse_is_named() -> None:
    listed = {"not right": {"a": "wrong"}, "not compiled": {"b": "on the host: If"}}
    better = [Score("a"), Score("b"), Score("e")]
    same = [Score("a", "wrong"), Score("b", host=("If",)), Score("e")]
    worse = [Score("b", "wrong"), Score("c", "wrong"), Score("d", host=("If",))]
    assert known.worse(better, listed) == known.worse(same, listed) == []
    assert [line.partition(":")[0] for line in known.worse(worse, listed)] == ["b", "c", "d"]


def test_only_cases_that_exist_are_listed() -> None:
    for listed in KNOWN.values():
        assert listed.keys() <= cases().keys()


def test_the_scores_are_no_less_than_the_goals() -> None:
    right = len(cases()) - len(KNOWN["not right"])
    assert right >= RIGHT
    assert right - len(KNOWN["not compiled"]) >= COMPILED


RIGHT, COMPILED = 2019, 1974
"""The least numbers of cases; they only grow."""
