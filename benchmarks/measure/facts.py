"""The commit, the processor and versions that a number was measured on; needs no framework."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def headline(facts: dict[str, str]) -> str:
    """The facts on one line."""
    return f"{facts['device']}; " + ", ".join(f"{k} {v}" for k, v in facts.items() if k != "device")


def commit() -> str:
    """The commit of this file's repository, marked where the tree differs from it."""
    given = os.environ.get("HIDET_COMMIT")  # where the tree travels without its history
    if given:
        return given
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--match="]
    try:
        result = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return result.stdout.strip()


def installed(package: str) -> str:
    """The version of a package, or nothing."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def processor() -> str:
    """The name of the CPU and how many cores this process may use."""
    names = []
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.machine()
    return f"{name}, {len(os.sched_getaffinity(0))} cores"
