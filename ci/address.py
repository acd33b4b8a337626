"""Where the repository is published: the one address that absolute links begin with.

`python -m ci.address URL` puts another one everywhere. `.example` is a name that leads nowhere by
definition: the repository has no public address yet.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLACE = ROOT / "packages" / "hidet-core" / "pyproject.toml"
FILES = "/blob/main/"
"""What stands between the address and the path of a file."""


def address() -> str:
    """The repository's address, as hidet-core's metadata has it."""
    urls = tomllib.loads(PLACE.read_text(encoding="utf-8"))["project"]["urls"]
    return str(urls["Repository"])


def link_to(path: Path) -> str:
    """The absolute link to a file of the repository."""
    return f"{address()}{FILES}{path.resolve().relative_to(ROOT).as_posix()}"


def linked(target: str) -> Path | None:
    """The file of the repository that an absolute link names, if it is one of ours."""
    start = address() + FILES
    return ROOT / target.removeprefix(start) if target.startswith(start) else None


def mentions() -> list[Path]:
    """The files that have the address: metadata and READMEs of the packages."""
    return sorted([*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("packages/*/README.md")])


def main(new: str) -> int:
    """Put a new address where the old one is."""
    old = address()
    for file in mentions():
        file.write_text(file.read_text("utf-8").replace(old, new.rstrip("/")), encoding="utf-8")
    print(f"{old} is {address()} now, in {len(mentions())} files")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
