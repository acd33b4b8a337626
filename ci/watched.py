"""A program that must end in time, or is ended with all that it started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Ended(NamedTuple):
    """What a program printed, errors too, and its exit status: None if its time was over."""

    output: str
    status: int | None


def run_within(
    seconds: float, command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> Ended:
    """Run a program for so long at most; what it printed until then is kept."""
    process = subprocess.Popen(
        command, cwd=folder, env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        return Ended(process.communicate(timeout=seconds)[0], process.returncode)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return Ended(process.communicate()[0], None)
