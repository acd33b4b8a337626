"""The CUDA code of schedules changes only when it is meant to.

The hashes are of code without names. After a change that is meant, look at what
`python -m ci.same_code compare main` prints and run this file with --update-golden.
"""

import pytest

from hidet.codegen import cuda
from hidet.lang import attr, f32, script, script_module
from hidet.lang.cuda import threadIdx
from hidet.passes.pipeline import lower

pytest.importorskip("ci", reason="the cases are not beside tests of installed wheels")
from ci.same_code.__main__ import differences
from ci.same_code.cases import all_cases, cases_of, few_cases, schedules
from ci.same_code.definitions import DEFINITIONS
from ci.same_code.problems import PROBLEMS, TARGET, dtype_of, settings_of
from ci.same_code.text import digest, without_names


def test_every_schedule_is_there():
    names = [str(case) for case in all_cases()]
    assert all(cases_of(each) for each in schedules())
    assert all(case.graph().nodes for case in all_cases())
    assert len(names) == len(set(names))
    assert len({case.around for case in few_cases()}) >= 6


def test_every_element_type_of_a_schedule_is_there():
    for schedule in schedules():
        with settings_of(schedule):
            fitting = {dtype_of(op) for op in PROBLEMS if schedule.fits(op, TARGET)}
        assert fitting <= {dtype_of(case.op) for case in cases_of(schedule)}


def test_others_are_around_kernels_that_share_sums_and_that_do_not():
    (schedule,) = (each for each in schedules() if each.name == "matmul_wgmma")
    found = {case.point.slices > 1 for case in cases_of(schedule) if case.around == "gate"}
    assert found == {True, False}


def test_the_code_is_as_it_was(golden):
    lines = [f"{case} {case.op.name} {digest(case)}\n" for case in few_cases()]
    lines += [f"{each} {digest(each)}\n" for each in DEFINITIONS[::3]]
    golden("".join(lines))


def doubling(first, second, factor=2.0):
    """The text of a kernel, with names for its operand and the result."""
    with script_module():

        @script
        def times(x: f32[8], y: f32[8]):
            attr.cuda_grid_dim = 1
            attr.cuda_block_dim = 8
            y[threadIdx.x] = x[threadIdx.x] * factor

    kernel = lower(times.kernel)
    for param, name in zip(kernel.params, (first, second), strict=True):
        object.__setattr__(param, "name", name)
    return cuda.emit([kernel])


def test_names_are_no_part_of_the_code():
    assert doubling("x", "y") != doubling("a", "b")
    with without_names():
        assert doubling("x", "y") == doubling("a", "b") != doubling("x", "y", 3.0)


def test_what_differs_is_said(tmp_path, capsys):
    before, after = tmp_path / "before", tmp_path / "after"
    sides = {
        before: {"same": doubling("x", "y"), "named": doubling("x", "y"), "gone": ""},
        after: {"same": doubling("x", "y"), "named": doubling("a", "b")},
    }
    sides[before]["tripled"], sides[after]["tripled"] = doubling("x", "y"), doubling("x", "y", 3.0)
    for folder, texts in sides.items():
        folder.mkdir()
        for name, text in texts.items():
            (folder / f"{name}.cu").write_text(text)
            (folder / f"{name}.launches").write_text("grid 1")
    (after / "same.launches").write_text("grid 2")
    assert differences(before, after) == 3
    said = capsys.readouterr().out
    assert "gone: only before" in said
    assert "same: launched otherwise" in said
    assert "named: same machine code of another text" in said
    assert "tripled: other machine code" in said
    assert "4 cases: 0 the same text, 3 differ" in said
