"""The contract holds for a good plugin and catches one that imports its framework."""

import os
import tomllib
from pathlib import Path

import pytest

from hidet.testing.frontend_contract import FrontendContract

TOY = Path(__file__).parents[1] / "toy_frontend"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The toy plugin installed in `tmp_path`, for this process and those it starts."""
    project = tomllib.loads((TOY / "pyproject.toml").read_text())["project"]
    metadata = tmp_path / "hidet_toy-0.1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: hidet-toy\nVersion: 0.1.0\n")
    [(name, value)] = project["entry-points"]["hidet.frontends"].items()
    (metadata / "entry_points.txt").write_text(f"[hidet.frontends]\n{name} = {value}\n")
    for path in (TOY / "tests", TOY / "src", tmp_path):
        monkeypatch.syspath_prepend(path)
    search = [str(tmp_path), str(TOY / "src"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, search)))
    return tmp_path


@pytest.mark.usefixtures("folder")
class TestOfAGoodPlugin(FrontendContract):
    name = "toy"
    author = "toy_author:ToyAuthor"


class WithoutAuthor(FrontendContract):
    name = "toy"


def test_a_plugin_without_an_author_says_what_it_does_not_test() -> None:
    with pytest.raises(pytest.skip.Exception, match="hidet-toy brings no author"):
        WithoutAuthor().test_what_the_framework_runs_is_named()


def test_a_manifest_that_imports_its_framework_fails(folder: Path) -> None:
    (folder / "hidet_toy").mkdir()
    (folder / "hidet_toy/__init__.py").write_text("import numpy\n")
    (folder / "hidet_toy/manifest.py").write_text((TOY / "src/hidet_toy/manifest.py").read_text())
    with pytest.raises(AssertionError, match="numpy"):
        WithoutAuthor().test_manifest_imports_no_framework()
