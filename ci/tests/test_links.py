"""Links of pages lead somewhere."""

from ci.links import broken, headings, pages


def test_every_link_of_the_pages_leads_somewhere():
    assert {str(page): [*broken(page)] for page in pages() if [*broken(page)]} == {}


def test_what_leads_nowhere_is_named(tmp_path):
    page = tmp_path / "a.md"
    (tmp_path / "b.md").write_text("# One `word`\n")
    page.write_text(
        "# Top\n[x](b.md) [y](b.md#one-word) [z](#top) [w](https://e.org/q) [v](missing.md)\n"
        '[u](b.md#two) <img src="no.svg">\n```\n[t](inside-a-fence.md)\n```\n'
    )
    assert [*broken(page)] == ["missing.md", "b.md#two", "no.svg"]


def test_headings_are_spelled_as_mkdocs_does():
    assert headings("## What's `new`, then?\n") == {"whats-new-then"}
