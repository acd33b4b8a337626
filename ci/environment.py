"""Python environments in `.nox/`, shared by the sessions that name the same one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ci.sessions import new_junit_path

if TYPE_CHECKING:
    import nox

ROOT = Path(__file__).parents[1]
FRONTENDS = ("hidet-torch", "hidet-onnx", "hidet-tf")
EXTRAS = {"hidet-core": "[cuda13]"}
"""What tests need beyond a package's own dependencies: NVRTC compiles without a GPU."""
CANDIDATES = ("3.11", "3.12", "3.13", "3.14")
BYTECODE = {
    "PYTHONDONTWRITEBYTECODE": "",
    "PYTHONPYCACHEPREFIX": str(ROOT / ".nox" / "bytecode"),
}
"""Tests start some hundred processes: what the first has translated the others need not, also
where nothing may be written beside sources."""


def present(candidates: tuple[str, ...] = CANDIDATES) -> list[str]:
    """The Python versions that run on this machine, that of this process first."""
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    return [own, *(v for v in candidates if v != own and runs(f"python{v}"))]


def runs(executable: str) -> bool:
    """Whether a command is the Python it is named after; a version manager's shim may not."""
    code = "import sys; print('python%d.%d' % sys.version_info[:2])"
    try:
        result = subprocess.run([executable, "-c", code], capture_output=True, text=True)
    except OSError:
        return False
    return result.stdout.strip() == executable


def activate_pyenv() -> None:
    """Let pyenv's shims run every version it has, the one in use first.

    The shim that started this process has set the variable already, to its own version alone.
    """
    if shutil.which("pyenv"):
        listed = subprocess.run(["pyenv", "versions", "--bare"], capture_output=True, text=True)
        found = [v for v in listed.stdout.split() if re.fullmatch(r"3\.1[1-9]\.\d+", v)]
        current = sys.version.split()[0]
        os.environ["PYENV_VERSION"] = ":".join(sorted(found, key=lambda v: (v != current, v)))


def needs(package: str, projects: dict[str, dict[str, Any]]) -> list[str]:
    """`package` and the packages of this repository it depends on, dependencies first."""
    names = [
        re.match(r"[\w.-]+", requirement)[0]  # type: ignore[index]
        for requirement in projects[package].get("dependencies", ())
    ]
    return [name for name in projects if name in names] + [package]


class Environment:
    """One environment; made when first named, `fresh` makes it anew. Versions are those of the
    constraints, unless it is `unpinned`."""

    installed: set[tuple[str, ...]] = set()  # noqa: RUF012  what this run has installed where

    def __init__(
        self,
        session: nox.Session,
        name: str,
        version: str = "",
        fresh: bool = False,
        unpinned: bool = False,
    ):
        self.session = session
        self.pins = () if unpinned else ("-c", str(ROOT / "constraints.txt"))
        self.folder = ROOT / ".nox" / name
        self.python = str(self.folder / "bin" / "python")
        if fresh:
            shutil.rmtree(self.folder, ignore_errors=True)
        if not Path(self.python).exists():
            base = f"python{version}" if version not in ("", present(())[0]) else sys.executable
            self._external(sys.executable, "-m", "virtualenv", "-q", "-p", base, str(self.folder))

    def install(self, *arguments: str) -> None:
        """`pip install`, once in a run of nox."""
        done = (str(self.folder), *arguments)
        if done not in self.installed:
            self.run("-m", "pip", "install", "-q", *self.pins, *arguments)
            self.installed.add(done)

    def editable(self, *packages: str) -> None:
        """The packages as they lie in the working tree."""
        self.install("hatchling>=1.27", "editables")
        paths = [f"packages/{name}{EXTRAS.get(name, '')}" for name in packages]
        options = [part for path in paths for part in ("-e", path)]
        self.install("--no-build-isolation", *options)

    def pytest(self, *arguments: str) -> None:
        """Run pytest; what passed and failed enters the report at the end."""
        self.run("-m", "pytest", f"--junitxml={new_junit_path()}", *arguments, env=BYTECODE)

    def run(self, *arguments: str, **options: Any) -> None:
        """Run this environment's Python with `arguments`, in the repository's root."""
        self._external(self.python, *arguments, **options)

    def _external(self, *command: str, **options: Any) -> None:
        self.session.run(*command, external=True, **options)


activate_pyenv()
PYTHONS = present()
