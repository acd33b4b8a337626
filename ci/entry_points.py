"""List the entry points of the installed packages, and fail if a named package has none."""

from __future__ import annotations

import sys
from importlib.metadata import distribution


def main(names: list[str]) -> int:
    """Print `package: group name = value` lines; 1 if a package announces no frontend."""
    missing = 0
    for name in names:
        entries = distribution(name).entry_points
        for entry in entries:
            print(f"{name}: {entry.group} {entry.name} = {entry.value}")
        missing += not entries.select(group="hidet.frontends")
    return min(missing, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
