"""Tries hostile files in one process with little memory, and prints a line of JSON for each.

python -m hostile FOLDER [NAME...]
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from pathlib import Path

from hostile import attributes, calls, constants, external, parsing
from hostile.attack import ATTACKS, ONE, compiled, node, tried

LOADED = attributes, calls, constants, external, parsing
GIGABYTES = 3


def main() -> None:
    """Try the files of these names, or all of them."""
    folder = Path(sys.argv[1])
    external.prepare(folder)
    warnings.simplefilter("ignore")
    compiled(node("MatMul", ["x", "w"], ["y"]), held={"w": ONE})  # loads what compiling needs
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = used + GIGABYTES * 2**30
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for name in sys.argv[2:] or ATTACKS:
        print(json.dumps({"begun": name}), flush=True)
        print(json.dumps(tried(name, folder)), flush=True)


if __name__ == "__main__":
    main()
