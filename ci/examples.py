"""Run each example as a reader would, in a process of its own; each has a main().

What it prints is compared with docs/gallery.md, as on a machine without a GPU.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

from ci import gallery

WITHOUT_GPU = {"CUDA_VISIBLE_DEVICES": ""}


def has_main(source: str) -> bool:
    """Whether the file defines the `main` that makes it importable as well as runnable."""
    body = ast.parse(source).body
    return any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in body)


def output(path: Path) -> tuple[str, str | None]:
    """What the example prints, and what is wrong with it, if anything."""
    if not has_main(path.read_text()):
        return "", f"{path} has no main()"
    command, environment = [sys.executable, str(path)], os.environ | WITHOUT_GPU
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    if result.returncode:
        problem = f"{path} ended with {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout, problem
    return gallery.steady(result.stdout), None


def difference(name: str, printed: str) -> str | None:
    """How an output differs from what the gallery shows, if it does."""
    expected = gallery.shown().get(name)
    if expected == printed:
        return None
    again = "write it again: python -m ci.examples FOLDER --write"
    return f"{name}: docs/gallery.md shows\n{expected}\nit prints\n{printed}\n{again}"


def main(folder: str, *flags: str) -> int:
    """Run all examples of a folder and print the totals; 1 if any failed."""
    examples = gallery.ROOT / "examples"
    found = {path: output(path) for path in sorted(Path(folder).resolve().glob("*.py"))}
    problems = [problem for _, problem in found.values() if problem]
    names = {path.relative_to(examples).as_posix(): text for path, (text, _) in found.items()}
    if "--write" in flags and not problems:
        gallery.write(names)
    if not problems:
        problems = [each for name, text in names.items() if (each := difference(name, text))]
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(found)} examples: {len(found) - len(problems)} passed, {len(problems)} failed")
    return min(len(problems), 1)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
