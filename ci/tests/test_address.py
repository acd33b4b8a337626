"""The READMEs of packages stand alone on an index page: their links are absolute, and are ours."""

import tomllib

import pytest

from ci.address import FILES, PLACE, ROOT, address, link_to, linked, mentions
from ci.links import LINK, broken

READMES = sorted(ROOT.glob("packages/*/README.md"))
PROJECTS = sorted(ROOT.glob("packages/*/pyproject.toml"))


@pytest.mark.parametrize("page", READMES, ids=lambda page: page.parent.name)
def test_a_readme_of_a_package_has_absolute_links_alone(page):
    links = [match[1] or match[2] for match in LINK.finditer(page.read_text(encoding="utf-8"))]
    assert links
    assert [each for each in links if not each.startswith(address() + FILES)] == []


@pytest.mark.parametrize("page", READMES, ids=lambda page: page.parent.name)
def test_a_readme_of_a_package_says_how_to_install_it_and_shows_code(page):
    text = page.read_text(encoding="utf-8")
    assert f"pip install {page.parent.name}" in text
    assert "```python" in text


@pytest.mark.parametrize("path", PROJECTS, ids=lambda path: path.parent.name)
def test_the_metadata_of_every_package_has_the_same_address(path):
    urls = tomllib.loads(path.read_text(encoding="utf-8"))["project"]["urls"]
    folder = path.parent.name
    assert urls == {
        "Repository": address(),
        "Documentation": link_to(ROOT / "docs/README.md"),
        "Changelog": link_to(ROOT / "packages" / folder / "CHANGELOG.md"),
    }


def test_an_absolute_link_of_ours_that_leads_nowhere_is_broken(tmp_path):
    page = tmp_path / "page.md"
    good, bad = link_to(ROOT / "README.md"), link_to(ROOT / "missing.md")
    page.write_text(f"[a]({good}) [b]({bad}) [c](https://e.org/q)\n")
    assert [*broken(page)] == [bad]
    assert linked("https://e.org/q") is None


def test_the_address_stands_in_metadata_and_readmes_alone():
    others = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packages/*/src/**/*.py")]
    assert PLACE in mentions()
    assert [file for file in others if address() in file.read_text("utf-8")] == []
