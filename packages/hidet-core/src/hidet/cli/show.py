"""`hidet show`: what HIDET_DUMP wrote, stage by stage, as the lines that each stage changed."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from pathlib import Path

from hidet.errors import BadArgument


def show(folder: str, stages: Sequence[str]) -> int:
    """Print the stages of a dump, one stage, or what changed between two.

    `folder` is what HIDET_DUMP named, or the folder of one kernel in it. A stage is the beginning
    of its file's name: "00", or "03-simplify".
    """
    root = Path(folder)
    if not root.is_dir():
        raise BadArgument(f"{folder} is no folder", help="run with HIDET_DUMP=folder first")
    if len(stages) > 2:
        raise BadArgument(f"{len(stages)} stages: name one to see it, two to compare them")
    if not stages:
        return listed(root)
    paths = [found(root, stage) for stage in stages]
    if len(paths) == 1:
        print(paths[0].read_text(), end="")
        return 0
    for line in changes(*paths):
        print(line)
    return 0


def listed(root: Path) -> int:
    """Print each stage of each kernel, with how many lines it changed."""
    folders = sorted({path.parent for path in root.rglob("[0-9][0-9]-*")})
    if not folders:
        raise BadArgument(f"{root} holds no stages", help="run with HIDET_DUMP=folder first")
    for folder in folders:
        print(folder)
        before: Path | None = None
        for path in stages_of(folder):
            print(f"  {path.stem:28}  {summary(before, path)}".rstrip())
            before = path
    return 0


def summary(before: Path | None, after: Path) -> str:
    """How much a stage changed; nothing of the first, or where the language changes."""
    if before is None or before.suffix != after.suffix:
        return f"{len(after.read_text().splitlines())} lines"
    signs = [line[0] for line in changes(before, after) if not line.startswith(("---", "+++"))]
    added, removed = signs.count("+"), signs.count("-")
    return f"+{added} -{removed}" if added or removed else "="


def changes(before: Path, after: Path) -> Iterator[str]:
    """The lines that differ, as a unified diff."""
    old, new = (path.read_text().splitlines() for path in (before, after))
    return difflib.unified_diff(old, new, before.stem, after.stem, lineterm="", n=1)


def stages_of(folder: Path) -> list[Path]:
    """The stages in a folder, in order."""
    return sorted(folder.glob("[0-9][0-9]-*"))


def found(root: Path, stage: str) -> Path:
    """The one stage whose name begins so."""
    paths = [path for path in stages_of(root) if path.name.startswith(stage)]
    if len(paths) == 1:
        return paths[0]
    if paths:
        names = ", ".join(path.stem for path in paths)
        raise BadArgument(f"{stage!r} begins {len(paths)} stages: {names}")
    kernels = ", ".join(sorted(path.name for path in root.iterdir() if path.is_dir()))
    have = ", ".join(path.stem for path in stages_of(root))
    raise BadArgument(
        f"{root} has no stage {stage!r}",
        help=f"there are {have}" if have else f"name the folder of a kernel: {kernels}",
    )
