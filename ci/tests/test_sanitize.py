import stat
import subprocess
import sys
import time

import pytest

from ci import sanitize
from ci.gpus import Lanes
from ci.sanitize import Finding, Row, alarmed, judged, main, table, watch

MEMCHECK = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at shifted+0x70
=========     by thread (63,0,0) in block (0,0,0)
=========     Host Frame: cuLaunchKernel [0x2f9f5f] in libcuda.so.1
========= ERROR SUMMARY: 1 error
"""
RACECHECK = """\
========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at copy_rows(float*)+0x90 and Read access at \
copy_rows(float*)+0x120 [128 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
ROWS = [Row("shifted", "bounds", "OutOfBounds", True), Row("copy", "race", "Race", False)]


@pytest.mark.parametrize(
    ("output", "verdict"),
    [
        (MEMCHECK, "yes"),
        (RACECHECK, "yes"),
        ("========= ERROR SUMMARY: 0 errors", "no"),
        ("========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", "no"),
        ("========= Error: Device not supported", "failed: ========= Error: Device not supported"),
        ("", "failed: nothing was printed"),
    ],
)
def test_verdicts(output, verdict):
    assert judged(output).verdict == verdict


def test_reports_name_kernels_of_a_case():
    both = Finding("yes", MEMCHECK + RACECHECK)
    assert [alarmed(row, both) for row in ROWS] == [True, True]
    assert not alarmed(Row("shift", "", "", True), both)


def test_the_table():
    nothing, found = Finding("no", ""), judged(MEMCHECK)
    wrong = {(row.name, tool): nothing for row in ROWS for tool in sanitize.TOOLS}
    right = dict(wrong)
    wrong["shifted", "memcheck"] = found
    right["copy", "racecheck"] = judged(RACECHECK + "copy: wrong values")
    lines = table(ROWS, wrong, right).splitlines()
    assert "| shifted | bounds | yes |  |  |  | yes |" in lines
    assert "| copy | race |  |  / false alarm / wrong values |  |  | **no** |" in lines
    assert "- memcheck: 1 of 2 mistakes, 0 false alarms" in lines
    assert "- any tool of compute-sanitizer: 1 of 2" in lines
    assert lines[-1] == "- hidet.sim: 1 of 2"


def program(folder, text):
    path = folder / "tool"
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_a_process_that_hangs_is_ended(tmp_path, monkeypatch):
    """The time is up once it has said something, however long that takes on this machine."""
    slow = program(
        tmp_path,
        "import pathlib, time\nprint('========= at x+0x1', flush=True)\n"
        "pathlib.Path('said').touch()\ntime.sleep(300)",
    )
    communicate = subprocess.Popen.communicate

    def when_it_has_spoken(process, timeout=None):
        while timeout is not None and not (tmp_path / "said").exists():
            time.sleep(0.02)
        return communicate(process, timeout=timeout)

    monkeypatch.setattr(subprocess.Popen, "communicate", when_it_has_spoken)
    assert watch(slow, "memcheck", tmp_path, ["x"], 0.1, Lanes(1, [])).verdict == "yes, hangs"


def test_the_tool_gets_the_program_and_its_arguments(tmp_path):
    echo = program(tmp_path, "import sys\nprint(sys.argv[1:], 'ERROR SUMMARY: 0 errors')")
    found = watch(echo, "racecheck", tmp_path, ["x", "--right"], 300.0, Lanes(1, []))
    assert found.verdict == "no"
    assert "'--tool', 'racecheck'" in found.output
    assert "'-m', 'ci.sanitized', 'x', '--right'" in found.output


def test_without_wheels_it_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sanitize, "sanitizer", lambda: "compute-sanitizer")
    assert main(["--dist", str(tmp_path)]) == 2
    assert "no wheels" in capsys.readouterr().out
