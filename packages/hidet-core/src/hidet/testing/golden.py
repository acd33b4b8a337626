"""Golden text: what a test produced once, was read by a person, and must produce again.

A pytest plugin: import `golden` and `pytest_addoption` in the top `conftest.py`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--update-golden`."""
    parser.addoption(
        "--update-golden", action="store_true", help="write golden files instead of comparing"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Compares a text with the file of this test, or writes it under `--update-golden`.

    The file of `tests/a/test_b.py::test_c` is `tests/golden/a/test_b/test_c.txt`.
    """
    path = golden_path(request.path, request.node.name)
    update = bool(request.config.getoption("--update-golden", default=False))
    return lambda text: compare(text, path, update)


def golden_path(test: Path, name: str) -> Path:
    """Where the golden text of test `name` in file `test` is kept."""
    root = next(folder for folder in test.parents if folder.name == "tests")
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_")
    return root / "golden" / test.relative_to(root).with_suffix("") / f"{stem}.txt"


def compare(text: str, path: Path, update: bool) -> None:
    """Fail, with the difference, unless `path` holds exactly `text`; write it if `update`."""
    if update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return
    if not path.exists():
        pytest.fail(f"{path.name} does not exist; look at the text and run with --update-golden")
    known = path.read_text()
    if text != known:
        lines = difflib.unified_diff(known.splitlines(), text.splitlines(), "golden", "now", "", "")
        pytest.fail("\n".join([f"{path.name} differs (--update-golden accepts)", *lines]))
