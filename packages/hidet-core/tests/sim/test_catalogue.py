"""Every wrong kernel of the catalogue is caught where it is wrong; its corrected twin passes."""

import re

import pytest
from catalogue import CASES

from hidet import sim

STEPS = 2000
"""Iterations of loops; no kernel here that ends needs as many."""
EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
THREAD = r"block \(\d+, \d+, \d+\), thread \(\d+, \d+, \d+\), warp \d+, lane \d+"


@EACH
def test_the_wrong_kernel_is_caught(case):
    module = case.module(False)
    with pytest.raises(case.fault) as caught:
        sim.launch(module, *case.arrays(), step_limit=STEPS)
    error = caught.value
    assert type(error) is case.fault
    assert (error.place.file, error.place.line) == (str(case.file), case.line), str(error)
    assert re.search(THREAD, error.message) or case.fault is sim.ResourceOveruse
    assert re.search(case.says, error.message)
    for line in case.waits:
        assert f"{case.file}:{line}" in error.help
    for line in case.others:
        assert f"{case.file}:{line}" in error.message or f"{case.file.name}:{line}" in error.message


@EACH
def test_the_corrected_twin_passes(case):
    arrays = case.arrays()
    sim.launch(case.module(True), *arrays, step_limit=STEPS)
    case.check(arrays[-1])


def test_names_are_unlike():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names) >= 40


def test_a_deadlock_names_all_who_wait():
    (case,) = [case for case in CASES if case.name == "each_waits_for_the_other_first"]
    with pytest.raises(case.fault) as caught:
        sim.launch(case.module(False), *case.arrays())
    for thread, warp in ((0, 0), (32, 1)):
        who = f"block (0, 0, 0), thread ({thread}, 0, 0), warp {warp}, lane 0 and 31 more"
        assert f"{who} waits at {case.file}:" in caught.value.message
