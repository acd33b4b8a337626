"""Markdown for a terminal: headings, paragraphs and fences are all that our pages of words have."""

from __future__ import annotations

import re
import textwrap

BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
FENCE = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def shown(page: str, width: int, styled: bool) -> str:
    """Paragraphs filled to `width` columns, code indented; `styled` with bold and dim letters."""
    blocks = []
    for number, text in enumerate(FENCE.split(page)):
        if number % 2:  # what a fence holds
            blocks.append(code(text, styled))
        else:
            paragraphs = re.split(r"\n\s*\n", text.strip())
            blocks += [paragraph(each, width, styled) for each in paragraphs if each]
    return "\n\n".join(blocks)


def paragraph(text: str, width: int, styled: bool) -> str:
    """A heading or a paragraph; `names` keep their marks where nothing else tells them apart."""
    if text.startswith("#"):
        title = text.lstrip("# ")
        return f"{BOLD}{title}{PLAIN}" if styled else title
    filled = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    return re.sub(r"`([^`]+)`", rf"{BOLD}\1{PLAIN}", filled) if styled else filled


def code(text: str, styled: bool) -> str:
    """The lines of a fence; dim are those that it prints."""
    lines = textwrap.indent(text.rstrip(), "    ").splitlines()
    if styled:
        lines = [f"{DIM}{each}{PLAIN}" if each.startswith("    #>") else each for each in lines]
    return "\n".join(lines)
