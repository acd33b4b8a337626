"""Which jobs does a change need? Prints them as nox does, so nox stays the one list of sessions.

`python -m ci.affected origin/main` prints the tags, `--jobs` the sessions as a JSON list.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHARED = ("ci/", ".ci/", ".github/", "noxfile.py", "pyproject.toml", "constraints.txt")
PAGES = ("docs/", "examples/", "README.md")


def workspace(root: Path = ROOT) -> dict[str, set[str]]:
    """Each package and the packages of this repository it depends on."""
    files = sorted(root.glob("packages/*/pyproject.toml"))
    projects = {f.parent.name: tomllib.loads(f.read_text())["project"] for f in files}
    return {
        name: {re.split(r"[^\w.-]", line)[0] for line in project.get("dependencies", ())}
        & set(projects)
        for name, project in projects.items()
    }


def affected(paths: list[str], uses: dict[str, set[str]]) -> list[str]:
    """The nox tags of a change: none for no change, else checks and what the paths reach."""
    if not paths:
        return []
    if any(path.startswith(SHARED) for path in paths):
        return ["checks", "docs", *sorted(uses)]
    pages = any(path.startswith(PAGES) or path.endswith(".md") for path in paths)
    hit = {
        p.split("/")[1]
        for p in paths
        if p.startswith("packages/") and (not p.endswith(".md") or "/src/" in p)
    }
    hit &= set(uses)
    while more := {name for name, used in uses.items() if used & hit} - hit:
        hit |= more
    return ["checks", *(["docs"] if pages else []), *sorted(hit)]


def main(base: str, jobs: bool) -> None:
    """Print the tags, or the sessions, that the changes since `base` need."""
    command = ["git", "diff", "--name-only", f"{base}...HEAD"]
    diff = subprocess.run(command, cwd=ROOT, text=True, check=True, capture_output=True)
    tags = affected(diff.stdout.splitlines(), workspace())
    if not jobs:
        print(*tags)
    elif not tags:
        print("[]")
    else:
        # One flag with many values: of repeated flags nox keeps the last alone.
        subprocess.run(["nox", "--list", "--json", "--tags", *tags], cwd=ROOT, check=True)


if __name__ == "__main__":
    main(sys.argv[1], jobs="--jobs" in sys.argv)
