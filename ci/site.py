"""A hook of mkdocs: what pages say for readers of the repository, for readers of the site.

Links to files that are no pages lead to the repository, a link whose text is the name of a page has
the page's title instead, and a picture for two themes follows the theme that the reader chose.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # mkdocs loads hooks by their path
from ci.address import ROOT, link_to

DOCS = ROOT / "docs"
LINK = re.compile(r"\[([^\]\[]+)\]\(([^)#\s:]+)(#[^)\s]+)?\)")
PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">\s*'
    r'<img alt="([^"]*)" src="([^"]+)">\s*</picture>'
)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page's text as the site has it."""
    folder = Path(page.file.abs_src_path).parent
    text = PICTURE.sub(r"![\2](\3#only-light)\n![\2](\1#only-dark)", markdown)
    return LINK.sub(lambda match: linked(match, folder), text)


def linked(match: re.Match[str], folder: Path) -> str:
    """A link with the title of its page, or to the repository."""
    text, target, anchor = match[1], match[2], match[3] or ""
    file = (folder / target).resolve()
    if not file.is_relative_to(DOCS):
        return f"[{text}]({link_to(file)}{anchor})" if file.exists() else match[0]
    names = text == file.name and file.exists()  # else mkdocs says that the link is broken
    return f"[{title(file)}]({target}{anchor})" if names else match[0]


def title(page: Path) -> str:
    """The first heading of a page, or of the file that it includes."""
    first = page.read_text(encoding="utf-8").splitlines()[0]
    included = re.match(r'--8<-- "(.+)"', first)
    return title(ROOT / included[1]) if included else first.removeprefix("# ")
