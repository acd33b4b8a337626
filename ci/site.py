"""A hook of mkdocs: links of pages to files that are no pages lead to the repository."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # mkdocs loads hooks by their path
from ci.address import ROOT, link_to

DOCS = ROOT / "docs"
OUTWARD = re.compile(r"\]\((\.\./[^)#\s]+)(#[^)\s]+)?\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The page's text with absolute links to what lies outside of docs/."""
    folder = Path(page.file.abs_src_path).parent
    return OUTWARD.sub(lambda match: absolute(match, folder), markdown)


def absolute(match: re.Match[str], folder: Path) -> str:
    """A link as it is if it leads to a page, else to the repository."""
    file = (folder / match[1]).resolve()
    if file.is_relative_to(DOCS):
        return match[0]
    return f"]({link_to(file)}{match[2] or ''})"
