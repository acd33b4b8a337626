"""The home page of the site and the README say the same; start pages keep their promise."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STARTS = sorted(ROOT.glob("docs/start-*.md"))


def beginning(page):
    return page.read_text(encoding="utf-8").partition("\n| ")[0]


def test_the_home_page_begins_as_the_readme_does():
    assert beginning(ROOT / "docs/README.md") == beginning(ROOT / "README.md")


def test_there_is_a_start_page_for_each_frontend_and_for_kernels():
    names = {"start-pytorch.md", "start-onnx.md", "start-tensorflow.md", "start-kernel.md"}
    assert {page.name for page in STARTS} == names
    home = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    assert {name for name in names if f"({name})" not in home} == set()


@pytest.mark.parametrize("page", STARTS, ids=lambda page: page.stem)
def test_a_start_page_begins_with_install_and_ends_with_loading_elsewhere(page):
    fences = re.findall(r"^```(\w+)\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (first, install), *_, (last, code) = fences
    assert first == "sh"
    assert install.startswith("python -m pip install")
    assert last == "python"
    assert "subprocess" in code
    assert "hidet.load(sys.argv[1])" in code
