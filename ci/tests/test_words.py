"""The pages that users read use the terms of the field."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS = {
    "ordinary units": "CUDA cores",
    "as words": "as keyword arguments",
    "sizes that vary": "dynamic shapes",
    "lending": "weight aliasing",
    "stealing": "weight donation",
    "circumstances": "cache key",
    "closed operand": "operand that takes no prologue",
    "handed norm": "partial normalisation statistics",
    "gang": "SIMT group",
}
"""What each private word is called elsewhere."""
PAGES = [
    *ROOT.glob("docs/**/*.md"),
    ROOT / "README.md",
    *ROOT.glob("packages/*/README.md"),
    ROOT / "packages/hidet-core/src/hidet/errors/codes.md",
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_no_private_word(page):
    text = re.sub(r"\s+", " ", page.read_text(encoding="utf-8").lower())
    found = {word: term for word, term in WORDS.items() if re.search(rf"\b{word}\b", text)}
    assert found == {}, "say it with the term beside the word"
