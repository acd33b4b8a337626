"""Installs plugins into a folder on `sys.path`, as an installer would: sources and metadata."""

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

TOY = Path(__file__).parents[1] / "toy_frontend"
Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """`install("hidet-jax", {"jax": "hidet_jax:FRONTEND"}, "1.2")`, undone after the test."""
    monkeypatch.syspath_prepend(tmp_path)

    def place(name: str, frontends: dict[str, str], version: str = "0.1.0") -> Path:
        folder = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        lines = [f"{key} = {value}" for key, value in frontends.items()]
        (folder / "entry_points.txt").write_text("\n".join(["[hidet.frontends]", *lines, ""]))
        return tmp_path

    return place


@pytest.fixture
def toy(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy frontend, installed by what its own pyproject.toml says."""
    project = tomllib.loads((TOY / "pyproject.toml").read_text())["project"]
    install(project["name"], project["entry-points"]["hidet.frontends"])
    monkeypatch.syspath_prepend(TOY / "src")
