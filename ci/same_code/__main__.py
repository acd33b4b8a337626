"""Does a change leave the CUDA code of schedules as it is?

    python -m ci.same_code compare COMMIT [NAME]     this tree against a commit
    python -m ci.same_code record FOLDER [NAME]      the code of the cases whose name holds NAME

Where the text differs, NVRTC says whether the machine code does. The cases are those of this tree,
for both sides; the exit status is the number of cases whose machine code differs, 99 at most.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from ci.same_code.cases import all_cases
from ci.same_code.machine_code import machine_code
from ci.same_code.text import code

ROOT = Path(__file__).parents[2]
SOURCE = "packages/hidet-core/src"
CODE, LAUNCHES = "cu", "launches"
"""What the two files of a case end in."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m ci.same_code", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, given in (("compare", "commit"), ("record", "folder")):
        one = commands.add_parser(name)
        one.add_argument(given)
        one.add_argument("name", nargs="?", default="", help="a part of cases' names")
    options = parser.parse_args(arguments)
    if options.command == "record":
        record(Path(options.folder), options.name)
        return 0
    return min(99, compare(options.commit, options.name))


def record(folder: Path, part: str) -> None:
    """Write the code of cases to files."""
    folder.mkdir(parents=True, exist_ok=True)
    for case in all_cases():
        if part in str(case):
            for suffix, text in zip((CODE, LAUNCHES), code(case), strict=True):
                (folder / f"{str(case).replace(' ', '-')}.{suffix}").write_text(text)


def compare(commit: str, part: str) -> int:
    """How many cases have other machine code than at a commit, or other launches."""
    with TemporaryDirectory() as name:
        before, after, tree = (Path(name, each) for each in ("before", "after", "tree"))
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", "-q", str(tree), commit], check=True)
        try:
            sides = [recording(tree, before, part), recording(ROOT, after, part)]
            if any([side.wait() for side in sides]):
                raise SystemExit("the code of one side could not be made")
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)
        return differences(before, after)


def recording(tree: Path, folder: Path, part: str) -> subprocess.Popen[bytes]:
    """A process that records with the sources of a tree."""
    path = os.pathsep.join([str(tree / SOURCE), str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "ci.same_code", "record", str(folder), part]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, cwd=folder.parent)


def differences(before: Path, after: Path) -> int:
    """Print what differs, case by case, and how many cases do; the number of those that matter."""
    names = sorted({each.stem for folder in (before, after) for each in folder.glob(f"*.{CODE}")})
    verdicts = [verdict(before / name, after / name) for name in names]
    for name, found in zip(names, verdicts, strict=True):
        if found:
            print(f"{name}: {found}")
    other = [each for each in verdicts if each and not each.startswith("same")]
    print(f"{len(names)} cases: {verdicts.count('')} the same text, {len(other)} differ")
    return len(other)


def verdict(before: Path, after: Path) -> str:
    """What differs in a case; nothing: not even the text."""
    old, new = (
        [path.with_name(f"{path.name}.{each}") for each in (CODE, LAUNCHES)]
        for path in (before, after)
    )
    if not old[0].exists() or not new[0].exists():
        return "only before" if old[0].exists() else "only after"
    (old_code, old_launches), (new_code, new_launches) = (
        [each.read_text() for each in side] for side in (old, new)
    )
    if old_launches != new_launches:
        return f"launched otherwise\n  {old_launches}\n  {new_launches}"
    if old_code == new_code:
        return ""
    one, two = machine_code(old_code), machine_code(new_code)
    if one.instructions == two.instructions:
        return "same machine code of another text"
    return f"other machine code\n  {one}\n  {two}"


if __name__ == "__main__":
    sys.exit(main())
