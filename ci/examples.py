"""Run each example as a reader would, in a process of its own; each has a main()."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path


def has_main(source: str) -> bool:
    """Whether the file defines the `main` that makes it importable as well as runnable."""
    body = ast.parse(source).body
    return any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in body)


def check(path: Path) -> str | None:
    """What is wrong with the example, if anything."""
    if not has_main(path.read_text()):
        return f"{path} has no main()"
    result = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    if result.returncode:
        return f"{path} ended with {result.returncode}\n{result.stdout}{result.stderr}"
    return None


def main(folder: str) -> int:
    """Run all examples of a folder and print the totals; 1 if any failed."""
    paths = sorted(Path(folder).glob("*.py"))
    problems = [problem for path in paths if (problem := check(path))]
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(paths)} examples: {len(paths) - len(problems)} passed, {len(problems)} failed")
    return min(len(problems), 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
