"""Which tool sees which mistake: the catalogue of wrong kernels under compute-sanitizer on a GPU.

    python -m ci.sanitize [--dist dist] [--jobs 12] [NAME...]

Needs what `ci/gpu` needs, and compute-sanitizer. Wrong kernels run alone, in a process for each of
the four tools, as many processes at a time as there are cores, shared out among the GPUs; corrected
twins run together. Prints
a table in Markdown; 1 if a tool could not be run, or the simulator missed something.
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
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from ci.gpu_suite import ROOT, copy_tests, facts, install, wheels_to_install
from ci.gpus import Lanes, list_gpus
from ci.watched import run_within

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
SECONDS = 40
"""After which a process counts as hanging; those expected to hang get less."""
HANGING_SECONDS = 12
TWINS_TOGETHER = 12
TOGETHER_SECONDS = 120
SUMMARY = re.compile(r"ERROR SUMMARY: (\d+) error|RACECHECK SUMMARY: (\d+) hazard")
KERNEL = re.compile(r"^=========.*?\b(\w+)(?:\(.*?\))?\+0x[0-9a-f]+", re.MULTILINE)
"""A line of a report that names an instruction of a kernel."""


class Row(NamedTuple):
    """A case as the simulator knows it."""

    name: str
    kind: str
    fault: str
    seen: bool
    """Whether the simulator finds the mistake, where it is, and nothing in the corrected twin."""
    hangs: bool = False
    """Whether the kernel may wait for ever on a GPU."""


class Finding(NamedTuple):
    """What one process under a tool gave: "yes", "no", "hangs" or why it could not be run."""

    verdict: str
    output: str


def main(arguments: Sequence[str]) -> int:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(prog="ci.sanitize")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist")
    parser.add_argument("--jobs", type=int, default=max(2, (os.cpu_count() or 4) - 2))
    parser.add_argument("names", nargs="*", help="only these cases")
    options = parser.parse_args(arguments)
    program = sanitizer()
    wheels = wheels_to_install(options.dist)
    if program is None or not wheels:
        print("compute-sanitizer is not here" if wheels else f"no wheels in {options.dist}")
        return 2
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="hidet-sanitize-") as name:
        folder = Path(name)
        install(wheels, folder / "site")
        copy_tests(ROOT, folder)
        cases = simulated(folder, options.jobs)
        rows = [row for row in cases if row.name in (options.names or [row.name])]
        wrong, right = sanitized(program, folder, rows, options.jobs)
        about = facts(folder)
    print("\n".join(f"{key}: {value}" for key, value in about.items()))
    print(f"seconds: {time.perf_counter() - start:.0f}\n")
    print(table(rows, wrong, right))
    findings = (*wrong.values(), *right.values())
    broken = sorted({f.verdict for f in findings if f.verdict.startswith("failed")})
    print("\n".join(["", *broken]))
    values = any(spoilt(row, right[row.name, tool]) for row in rows for tool in TOOLS)
    return int(bool(broken) or values or not all(row.seen for row in rows))


def sanitizer() -> str | None:
    """compute-sanitizer, if it is installed."""
    usual = "/usr/local/cuda/bin/compute-sanitizer"
    return shutil.which("compute-sanitizer") or (usual if Path(usual).exists() else None)


def environment(folder: Path) -> dict[str, str]:
    """This process's, with the installed wheels, the catalogue, and a cache of compiled kernels."""
    paths = (folder / "site", folder / "packages/hidet-core/tests/sim", ROOT)
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "HIDET_CACHE_DIR": str(folder / "cache"),
    }


# ---- the simulator -------------------------------------------------------------------------------


def simulated(folder: Path, jobs: int) -> list[Row]:
    """Every case by the simulator; compiles all kernels on the way, so that the cache has them."""
    with ThreadPoolExecutor(jobs) as pool:
        shares = list(pool.map(lambda part: share(folder, part, jobs), range(jobs)))
    rows = [shares[number % jobs][number // jobs] for number in range(sum(map(len, shares)))]
    return [
        Row(name, kind, fault, seen == "yes", hangs == "hangs")
        for name, kind, fault, seen, hangs in map(fields, rows)
    ]


def share(folder: Path, part: int, parts: int) -> list[str]:
    """What `ci.simulated` prints of one of the `parts` into which the cases are dealt."""
    command = [sys.executable, "-m", "ci.simulated", str(part), str(parts)]
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), check=True, stdout=subprocess.PIPE, text=True
    )
    return done.stdout.splitlines()


def fields(line: str) -> list[str]:
    """A line of `ci.simulated`."""
    return line.split("\t")


# ---- compute-sanitizer ---------------------------------------------------------------------------

Found = dict[tuple[str, str], Finding]


def sanitized(program: str, folder: Path, rows: Sequence[Row], jobs: int) -> tuple[Found, Found]:
    """For each case and tool, what was found in the wrong kernel and in its corrected twin."""
    hanging = {row.name for row in rows if row.hangs}
    groups = [rows[i : i + TWINS_TOGETHER] for i in range(0, len(rows), TWINS_TOGETHER)]
    wrong, right = {}, {}
    lanes = Lanes(max(1, jobs // max(1, len(list_gpus()))))
    with ThreadPoolExecutor(lanes.count) as pool:
        for tool in TOOLS:
            for row in rows:
                limit = HANGING_SECONDS if row.name in hanging else SECONDS
                if row.name not in hanging:
                    job = pool.submit(watch, program, tool, folder, [row.name], limit, lanes)
                    wrong[row.name, tool] = job
            for group in groups:
                names = [row.name for row in group]
                job = pool.submit(
                    watch, program, tool, folder, [*names, "--right"], TOGETHER_SECONDS, lanes
                )
                right.update({(name, tool): job for name in names})
        for name in sorted(hanging):  # last, and so together: they keep the GPU from all others
            for tool in TOOLS:
                job = pool.submit(watch, program, tool, folder, [name], HANGING_SECONDS, lanes)
                wrong[name, tool] = job
    return (
        {key: job.result() for key, job in wrong.items()},
        {key: job.result() for key, job in right.items()},
    )


def watch(
    program: str, tool: str, folder: Path, arguments: Sequence[str], seconds: float, lanes: Lanes
) -> Finding:
    """Run kernels under a tool."""
    command = [program, "--tool", tool, "--print-limit", "1000"]
    with lanes.one() as place:
        output, status = run_within(
            seconds,
            [*command, sys.executable, "-m", "ci.sanitized", *arguments],
            folder,
            {**environment(folder), **place},
        )
    if status is None:
        return Finding("yes, hangs" if KERNEL.search(output) else "hangs", output)
    return judged(output)


def judged(output: str) -> Finding:
    """What the tool says at its end."""
    counts = [int(a or b) for a, b in SUMMARY.findall(output)]
    if not counts:
        last = output.strip().splitlines()[-3:] or ["nothing was printed"]
        return Finding("failed: " + " / ".join(last), output)
    return Finding("yes" if any(counts) else "no", output)


# ---- the table -----------------------------------------------------------------------------------


def table(rows: Sequence[Row], wrong: Mapping[tuple[str, str], Finding], right: Found) -> str:
    """One row for each case; what tools say of the corrected twin stands behind a slash."""
    head = ["kernel", "kind", *TOOLS, "hidet.sim"]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for row in rows:
        cells = [cell(row, tool, wrong, right) for tool in TOOLS]
        mine = "yes" if row.seen else "**no**"
        lines.append("| " + " | ".join([row.name, row.kind, *cells, mine]) + " |")
    return "\n".join([*lines, "", *totals(rows, wrong, right)])


def cell(row: Row, tool: str, wrong: Mapping[tuple[str, str], Finding], right: Found) -> str:
    """What one tool sees of a case."""
    verdict = wrong[row.name, tool].verdict.partition(":")[0]
    twin = right[row.name, tool]
    remarks = [" / false alarm"] * alarmed(row, twin) + [" / wrong values"] * spoilt(row, twin)
    return (verdict if verdict != "no" else "") + "".join(remarks)


def alarmed(row: Row, twin: Finding) -> bool:
    """Whether a tool's report names one of the twin's kernels."""
    pattern = re.compile(rf"{row.name}(_[a-z]+)?")
    return any(pattern.fullmatch(name) for name in KERNEL.findall(twin.output))


def spoilt(row: Row, twin: Finding) -> bool:
    """Whether the corrected twin computed something else than it should."""
    return f"{row.name}: wrong values" in twin.output.splitlines()


def totals(
    rows: Sequence[Row], wrong: Mapping[tuple[str, str], Finding], right: Found
) -> list[str]:
    """How many each tool sees."""
    lines = []
    for tool in TOOLS:
        seen = sum(wrong[row.name, tool].verdict.startswith("yes") for row in rows)
        alarms = sum(alarmed(row, right[row.name, tool]) for row in rows)
        lines.append(f"- {tool}: {seen} of {len(rows)} mistakes, {alarms} false alarms")
    any_tool = sum(
        any(wrong[row.name, tool].verdict.startswith("yes") for tool in TOOLS) for row in rows
    )
    lines.append(f"- any tool of compute-sanitizer: {any_tool} of {len(rows)}")
    lines.append(f"- hidet.sim: {sum(row.seen for row in rows)} of {len(rows)}")
    return lines


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
