"""How far the cost model's choices are from the best that was measured.

    python -m benchmarks.regret record FILE [NAME]    on a device: measure problems that hold NAME
    python -m benchmarks.regret show FILE             anywhere: what today's choices take of it

A file that is there goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from benchmarks.measure.machine import default_device, headline, machine
from benchmarks.regret.judge import read, regrets, report
from benchmarks.regret.points import lock_of, measured
from benchmarks.regret.problems import problems
from hidet.build.target import target_on
from hidet.runtime.devices.device import canonical
from hidet.target import Target
from hidet.tuning.testbed import Testbed


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.regret", description=__doc__)
    parser.add_argument("command", choices=("record", "show"))
    parser.add_argument("file", type=Path)
    parser.add_argument("name", nargs="?", default="", help="a part of problems' names")
    parser.add_argument("--device", default=default_device())
    parser.add_argument("--most", type=int, default=40, help="schedules of each problem")
    parser.add_argument("--seconds", type=float, default=540.0, help="when to stop")
    asked = parser.parse_args(arguments)
    if asked.command == "record":
        record(asked.file, asked.name, asked.device, asked.most, asked.seconds)
    target, found = read(asked.file)
    print(report(list(regrets(found, problems(), Target.parse(target)))))
    return 0


def record(path: Path, part: str, device: str, most: int, seconds: float) -> None:
    """Measure the problems that are not in the file yet, until the time is up."""
    device = canonical(device)  # as graphs call it: on `cuda:0` arrays of `cuda` are refused
    target = target_on(device)
    if not path.exists():
        head = {"target": str(target), "machine": headline(machine(device))}
        path.write_text(f"{json.dumps(head)}\n")
    _, known = read(path)
    end = time.monotonic() + seconds
    with Testbed(device, lock_of(device)) as bed:
        for name, op in problems().items():
            if part in name and name not in known and time.monotonic() < end:
                points = list(measured(op, target, bed, most))
                with path.open("a") as file:
                    file.write(f"{json.dumps({'problem': name, 'points': points})}\n")
                print(f"{name}: {len(points)} schedules", flush=True)


if __name__ == "__main__":
    sys.exit(main())
