"""The team of threads by itself: a driver in C++ that is linked with it."""

import subprocess
from pathlib import Path

import pytest

from hidet.codegen.cpu.team import team_source

DRIVER = Path(__file__).with_name("team_driver.cpp")
WARNINGS = ("-Wall", "-Wextra", "-Werror")
WITHOUT_FUTEX = ("-DHIDET_TEAM_WITHOUT_FUTEX",)
"""As on systems that are no Linux."""
SANITIZER = ("-fsanitize=thread", "-g")


def compiled(folder, *flags):
    source, program = folder / "team.cpp", folder / "driver"
    source.write_text(team_source())
    command = ["g++", "-std=c++17", "-O2", "-pthread", *flags, str(source), str(DRIVER)]
    subprocess.run([*command, "-o", str(program)], check=True)
    return program


def run(program, name):
    done = subprocess.run([program, name], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module", params=[(), WITHOUT_FUTEX], ids=["futex", "condition variable"])
def driver(request, tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("team"), *WARNINGS, *request.param)


@pytest.fixture(scope="module", params=[(), WITHOUT_FUTEX], ids=["futex", "condition variable"])
def watched(request, tmp_path_factory):
    """The same, where ThreadSanitizer looks at each access."""
    folder = tmp_path_factory.mktemp("watched")
    probe = folder / "probe.cpp"
    probe.write_text("int main() {}")
    made = subprocess.run(["g++", *SANITIZER, str(probe), "-o", str(folder / "probe")])
    if made.returncode or subprocess.run([folder / "probe"]).returncode:
        pytest.skip("the compiler, or the machine, has no ThreadSanitizer")
    return compiled(folder, *SANITIZER, *request.param)


@pytest.mark.parametrize(
    "name", ["sizes", "callers", "nested", "stop", "children", "stalls", "shares", "crowd", "many"]
)
def test_every_iteration_runs_once(driver, name):
    run(driver, name)


@pytest.mark.parametrize("name", ["sizes", "callers", "nested", "stop", "shares", "crowd"])
def test_no_access_races(watched, name):
    run(watched, name)


def test_a_race_would_be_seen(watched, tmp_path):
    """A team that forgets to wait for its helpers; on a busy machine some runs see none of them."""
    text = team_source()
    waits = "    wait_for_helpers(*me.place);"
    assert waits in text
    source, program = tmp_path / "team.cpp", tmp_path / "driver"
    source.write_text(text.replace(waits, "    {}"))
    command = ["g++", "-std=c++17", "-O2", "-pthread", *SANITIZER, str(source), str(DRIVER)]
    subprocess.run([*command, "-o", str(program)], check=True)
    runs = (
        subprocess.run([program, "callers"], capture_output=True, timeout=300) for _ in range(9)
    )
    assert any(done.returncode for done in runs)
