"""Damaged models of ONNX's suite, imported, and each so manieth compiled and called.

    python -m ci.onnx_fuzz --count 20000

prints each that ends in anything but a result or an error of hidet's: another exception, an
internal error, the end of the process, ten seconds. Model number N is always the same:
`--first N --count 1` tries it again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence

CHUNK = 500


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the models asked for; 1 if one ended wrongly."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=2000, help="how many models")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--every", type=int, default=20, help="compile and call each so manieth")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none after")
    given = parser.parse_args(arguments)
    start, at, wrong = time.monotonic(), given.first, 0
    end = given.first + given.count
    while at < end and time.monotonic() - start < given.seconds:
        done, found = tried(at, min(CHUNK, end - at), given.every)
        for each in found:
            print(f"model {each['number']} ({each['model']}): {each['problem']}", flush=True)
        at, wrong = at + done, wrong + len(found)
    seconds = time.monotonic() - start
    print(f"{at - given.first} damaged models: {wrong} ended wrongly, {seconds:.0f} s")
    return 1 if wrong else 0


def tried(first: int, count: int, every: int) -> tuple[int, list[dict[str, str]]]:
    """How many models a process of their own tried, and those that ended wrongly."""
    command = [sys.executable, "-m", "ci.onnx_fuzz.judge", str(first), str(count), str(every)]
    ended = subprocess.run(command, capture_output=True, text=True)
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    found = [each for each in lines if "problem" in each]
    if ended.returncode == 0:
        return count, found
    begun = [int(each["begun"]) for each in lines if "begun" in each]
    if not begun:
        raise RuntimeError(ended.stderr[-2000:])
    why = f"ended the process: {ended.stderr[-300:]}"
    return begun[-1] - first + 1, [*found, {"number": str(begun[-1]), "model": "", "problem": why}]


if __name__ == "__main__":
    sys.exit(main())
