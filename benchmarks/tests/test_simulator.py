"""The simulator's own benchmark: its kernels are right, and its times are printed."""

from __future__ import annotations

import pytest

from benchmarks.simulator import PARTS, ROOT, TESTS, main


def test_the_tiles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    mma, wgmma = capsys.readouterr().out.splitlines()
    assert mma.startswith("128 x 128 x 64 by mma.sync")
    assert wgmma.startswith("64 x 128 x 64 by wgmma")


def test_the_parts_are_there() -> None:
    paths = [path for paths in PARTS.values() for path in paths]
    assert all((ROOT / TESTS / path).exists() for path in paths)
