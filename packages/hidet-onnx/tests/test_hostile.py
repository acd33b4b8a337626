"""Files that somebody wrote to do harm end in an error that says where and what to do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hostile import attributes, calls, constants, external, parsing
from hostile.attack import ATTACKS, HARMLESS

LOADED = attributes, calls, constants, external, parsing
SECONDS, MEGABYTES = 10, 500
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """What became of each file, all tried in a process that may take 3 GiB."""
    folder = tmp_path_factory.mktemp("hostile")
    ended = subprocess.run(
        [sys.executable, "-m", "hostile", str(folder)],
        cwd=Path(__file__).parent,
        env={**os.environ, "HIDET_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.returncode == 0, f"{lines[-1:]} ended the process:\n{ended.stderr[-2000:]}"
    return {each["name"]: each for each in lines if "name" in each}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_file(name: str, found: dict[str, dict]) -> None:
    each, says = found[name], ATTACKS[name].says
    if says != HARMLESS or each["kind"]:
        assert each["kind"] == "HidetError", each
        assert re.search(says, each["message"], re.DOTALL), each
    assert each["seconds"] < SECONDS
    assert each["megabytes"] < MEGABYTES
