"""What `ci/gpu` does: wheels into a temporary folder, copies of the tests beside it, one table.

Each file of tests has a process of its own, a few at a time on each GPU: a kernel that stops the
device takes only its file along, and compiling keeps several cores busy. The working tree's sources
stay out of sight, so what passes is what the wheels hold. Needs no network: wheels of dependencies
that the machine lacks may lie in `dist/dependencies/`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from ci.gpus import Lanes
from ci.sessions import count
from ci.watched import run_within

ROOT = Path(__file__).parents[1]
NO_TESTS = 5
"""pytest's exit status when a package has no test that is marked gpu."""
HANGS = 124
"""The status of a file whose tests did not end."""
AT_ONCE = 4
"""Files whose tests run side by side on one GPU, unless --at-once says otherwise."""
SECONDS = 300
"""After which a file counts as hanging."""
LAST_WORDS = 5
"""Seconds before that, in which a test says where it is. Not earlier: telling where threads are
while they run may end a process that is merely slow."""


class Outcome(NamedTuple):
    """One row of the table."""

    name: str
    passed: int
    failed: int
    status: int


def main(arguments: list[str]) -> int:
    """Run the suite; 0 only if tests ran and all of them passed."""
    parser = argparse.ArgumentParser(prog="ci/gpu")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="files at a time on a GPU")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="a file's tests may take")
    parser.add_argument("--bench", action="store_true", help="run the benchmarks afterwards")
    options, pytest_arguments = parser.parse_known_args(arguments)
    wheels = wheels_to_install(options.dist)
    if not wheels:
        print(f"no wheels in {options.dist}: run `nox -s wheels` where there is a network")
        return 2
    with tempfile.TemporaryDirectory(prefix="hidet-gpu-") as name:
        folder = Path(name)
        install(wheels, folder / "site")
        copy_tests(ROOT, folder)
        packages = sorted(p.name for p in (folder / "packages").iterdir())
        hanging = [f"-o=faulthandler_timeout={options.seconds - LAST_WORDS}", *pytest_arguments]
        run = Run(folder, hanging, Lanes(options.at_once), options.seconds)
        outcomes = run_tests(run, packages)
        if options.bench:
            outcomes.append(run_benchmarks(folder))
        print(table(outcomes, facts(folder)))
    return verdict(outcomes)


def wheels_to_install(dist: Path) -> list[Path]:
    """Our wheels, and those dependencies among `dist/dependencies/` that the machine lacks."""
    ours = sorted(dist.glob("*.whl"))
    extra = sorted((dist / "dependencies").glob("*.whl"))
    return [*ours, *(wheel for wheel in extra if not present(wheel.name.split("-")[0]))]


def present(distribution: str) -> bool:
    """Whether a distribution is installed on this machine."""
    try:
        return bool(version(distribution))
    except PackageNotFoundError:
        return False


def install(wheels: Sequence[Path], target: Path) -> None:
    """Install without looking anywhere else."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    subprocess.run([*command, "--target", str(target), *map(str, wheels)], check=True)


def copy_tests(root: Path, folder: Path) -> None:
    """Tests, what they read, benchmarks and pytest's settings; no sources."""
    shutil.copy(root / "pyproject.toml", folder)
    for tests in sorted(root.glob("packages/*/tests")):
        shutil.copytree(tests, folder / tests.relative_to(root))
    for name in ("benchmarks", "docs"):
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / name)


class Run(NamedTuple):
    """What all files of tests have in common."""

    folder: Path
    arguments: Sequence[str]
    lanes: Lanes
    seconds: float


def environment(folder: Path) -> dict[str, str]:
    """This process's, with the installed wheels and nothing else of hidet's on the search path."""
    return {**os.environ, "PYTHONPATH": str(folder / "site"), "PYTHONUNBUFFERED": "1"}


def run_tests(run: Run, packages: Sequence[str]) -> list[Outcome]:
    """`pytest -m gpu` of all packages, file by file."""
    outcomes = []
    with ThreadPoolExecutor(run.lanes.count) as pool:
        found = list(pool.map(lambda package: marked_files(run, package), packages))
        running = [[pool.submit(run_file, run, file) for file in files] for files, _ in found]
        for package, (_, status), jobs in zip(packages, found, running, strict=True):
            rows = [job.result() for job in jobs]
            passed, failed = sum(row.passed for row in rows), sum(row.failed for row in rows)
            worst = max([status, *(row.status for row in rows)])
            outcomes.append(outcome(package, passed, failed, worst))
    return outcomes


def marked_files(run: Run, package: str) -> tuple[list[str], int]:
    """The files that have tests for a GPU, those with most first; pytest's status."""
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "--collect-only", "-q", *run.arguments]
    result = subprocess.run(
        [*command, f"packages/{package}/tests"],
        cwd=run.folder, env=environment(run.folder), capture_output=True, text=True,
    )  # fmt: skip
    if result.returncode not in (0, NO_TESTS):
        print(result.stdout, result.stderr, flush=True)
    tests = re.findall(r"^(\S+\.py): (\d+)$", result.stdout, re.MULTILINE)
    return [file for file, _ in sorted(tests, key=lambda t: -int(t[1]))], result.returncode


def run_file(run: Run, file: str) -> Outcome:
    """The tests for a GPU in one file: a line when they are done, and what failing ones printed."""
    report = run.folder / f"{file.replace('/', '.')}.xml"
    command = [sys.executable, "-m", "pytest", "-m", "gpu", f"--junitxml={report}", *run.arguments]
    with run.lanes.one() as place:
        start = time.perf_counter()
        variables = {**environment(run.folder), **place}
        output, status = run_within(run.seconds, [*command, file], run.folder, variables)
        seconds = time.perf_counter() - start
    passed, failed = count(report.read_text()) if report.exists() else (0, 0)
    found = outcome(file, passed, failed, HANGS if status is None else status)
    said = f"did not end in {run.seconds:.0f} s" if status is None else f"{found.failed:4} failed"
    print(f"{seconds:6.1f} s {passed:5} passed {said}  {file}", flush=True)
    if found.failed:
        print(output, flush=True)
    return found


def outcome(name: str, passed: int, failed: int, status: int) -> Outcome:
    """A row; a run that broke without a failing test has one failure."""
    broke = status not in (0, NO_TESTS) and not failed
    return Outcome(name, passed, 1 if broke else failed, status)


def run_benchmarks(folder: Path) -> Outcome:
    """benchmarks.run, which prints its own table."""
    command = [sys.executable, "-m", "benchmarks.run"]
    status = subprocess.run(command, cwd=folder, env=environment(folder)).returncode
    return outcome("benchmarks", int(status == 0), 0, status)


def facts(folder: Path) -> dict[str, str]:
    """What was tested, on what."""
    code = (
        "import torch; n = torch.cuda.device_count(); "
        "print(torch.__version__, torch.version.cuda, "
        "torch.cuda.get_device_name(0) if n else 'none', sep='\\n')"
    )
    lines = said([sys.executable, "-c", code], folder).splitlines()
    torch, cuda, gpu = lines if len(lines) == 3 else ("absent", "absent", "unknown")
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    commit = said(["git", "rev-parse", "--short", "HEAD"], ROOT)
    return {
        "commit": os.environ.get("HIDET_COMMIT") or commit or "unknown",
        "python": sys.version.split()[0],
        "torch": torch,
        "cuda": cuda,
        "driver": said(query, folder).partition("\n")[0] or "unknown",
        "gpu": gpu,
        **wheel_versions(folder / "site"),
    }


def wheel_versions(site: Path) -> dict[str, str]:
    """The versions of our packages in a folder of installed wheels."""
    found = (re.fullmatch(r"(hidet_\w+)-(.+)\.dist-info", p.name) for p in sorted(site.iterdir()))
    return {m[1].replace("_", "-"): m[2] for m in found if m}


def said(command: list[str], folder: Path) -> str:
    """What a command printed; empty if it is absent or failed."""
    try:
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    except OSError:
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


def verdict(outcomes: Sequence[Outcome]) -> int:
    """0 if something ran and nothing failed: a suite that collected no test proves nothing."""
    return int(any(o.failed for o in outcomes) or not any(o.passed for o in outcomes))


def table(outcomes: Sequence[Outcome], about: dict[str, str]) -> str:
    """Facts, one row per package, totals last."""
    width = max(map(len, about))
    lines = ["", *(f"{name:<{width}}  {value}" for name, value in about.items()), ""]
    lines.append(f"{'suite':<16}{'passed':>8}{'failed':>8}")
    for row in outcomes:
        note = "   no test marked gpu" if row.status == NO_TESTS else ""
        lines.append(f"{row.name:<16}{row.passed:>8}{row.failed:>8}{note}")
    passed, failed = sum(o.passed for o in outcomes), sum(o.failed for o in outcomes)
    return "\n".join([*lines, f"{passed} passed, {failed} failed"])
