"""What the hook of the site makes of pages that the repository shows too."""

from types import SimpleNamespace

import pytest

from ci.address import ROOT, link_to
from ci.site import DOCS, on_page_markdown, title


def page(name):
    return SimpleNamespace(file=SimpleNamespace(abs_src_path=str(DOCS / name)))


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[a](../faq.md#which-gpus)", "[a](../faq.md#which-gpus)"),
        ("[b](../../README.md#install)", f"[b]({link_to(ROOT / 'README.md')}#install)"),
        ("[c](graph.md), [d](https://e.org/q.md)", "[c](graph.md), [d](https://e.org/q.md)"),
        ("[faq.md](../faq.md#which-gpus)", "[Questions](../faq.md#which-gpus)"),
        ("[errors.md](../errors.md)", "[Errors](../errors.md)"),
        ("rows[i](x, y) + rows[faq.md](y)", "rows[i](x, y) + rows[faq.md](y)"),
    ],
)
def test_links(written, shown):
    assert on_page_markdown(written, page("reference/index.md")) == shown


@pytest.mark.parametrize("name", ["README.md", "performance.md", "architecture.md"])
def test_a_picture_follows_the_theme_that_the_reader_chose(name):
    text = (DOCS / name).read_text("utf-8")
    shown = on_page_markdown(text, page(name))
    count = text.count("<picture>")
    assert count > 0
    assert shown.count("#only-light)") == shown.count("#only-dark)") == count
    assert "<picture>" not in shown


def test_every_page_begins_with_its_title():
    for each in DOCS.glob("**/*.md"):
        assert title(each)[0].isalnum() or title(each)[0] == "`", each
