"""The pages that users read, and the comments and docstrings of sources, use the field's terms."""

import io
import re
import tokenize
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
    "gangs?": "SIMT group",
    "products? (of|with) few rows": "small-M matmul",
    "products? of matrices": "matmul",
    "matrix products?": "matmul",
    "blocks share the sum": "split-K",
    "a token a step": "one token per step",
    "piles?": "split-K partials",
    "paces?": "latency model",
    "settle[sd]?|settling": "accumulator epilogue",
    "fade[sd]?|fading": "rescale factor",
}
"""What each private word is called elsewhere."""
PAGES = [
    *ROOT.glob("docs/**/*.md"),
    ROOT / "README.md",
    *ROOT.glob("packages/*/README.md"),
    *ROOT.glob("packages/*/CHANGELOG.md"),
    *ROOT.glob("benchmarks/*.md"),
    *sorted(ROOT.glob("packages/*/src/**/README.md")),
    ROOT / "packages/hidet-core/src/hidet/errors/codes.md",
]
SOURCES = sorted([*ROOT.glob("packages/*/src/**/*.py"), *ROOT.glob("ci/*.py")])


def private(text):
    """The private words of a text, with their terms."""
    plain = re.sub(r"\s+", " ", text.lower())
    return {word: term for word, term in WORDS.items() if re.search(rf"\b(?:{word})\b", plain)}


def prose(source):
    """The comments and docstrings of a source as one text, without names in backticks."""
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            found.append(re.sub(r"`[^`]*`", "", token.string.lstrip("# ")))
        elif token.type == tokenize.STRING and '"""' in token.string:
            found.append(re.sub(r"`[^`]*`", "", token.string))
    return " ".join(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_no_private_word(page):
    text = page.read_text("utf-8")
    if "src" in page.parts:  # for who reads the sources: names of code are as they are
        text = re.sub(r"`[^`]*`", "", text)
    assert private(text) == {}, "say it with the term beside the word"


def test_comments_and_docstrings_have_no_private_word():
    found = {
        str(each.relative_to(ROOT)): private(prose(each.read_text("utf-8"))) for each in SOURCES
    }
    assert {name: words for name, words in found.items() if words} == {}


def test_sources_name_only_files_that_exist():
    """`ring.py` in a docstring or comment is a file, with as much of its path as is said."""
    files = [
        f"/{each.relative_to(ROOT)}" for each in (*SOURCES, *ROOT.glob("packages/*/tests/**/*.py"))
    ]
    files += [f"/{each.relative_to(ROOT)}" for each in ROOT.glob("ci/**/*.py")]
    missing = {
        f"{each.relative_to(ROOT)}: {name}"
        for each in SOURCES
        for name in re.findall(r"`((?:\w+/)*\w+\.py)`", each.read_text("utf-8"))
        if not any(file.endswith(f"/{name}") for file in files)
    }
    assert missing == set()


def test_private_words_are_found_in_prose_and_not_in_code():
    source = '"""A gang\nof threads."""\ngang = 1  # where sizes\n# that vary\n'
    assert private(prose(source)) == {"gangs?": "SIMT group", "sizes that vary": "dynamic shapes"}
    assert private(prose('gang = "gang"  # `gang` is a name\n')) == {}


NAMES = re.compile(
    r"\b(?:gangs?|insets?|siblings|staying|lets_?next|few_rows|handed_norm|seats|circumstances"
    r"|steal|stealing|lend|lending|fades)\b",
    re.IGNORECASE,
)
"""Private words as names of modules, classes and functions; `steal_weights` is the original's."""


def test_names_in_code_have_no_private_word():
    found = {}
    for source in SOURCES:
        tokens = tokenize.generate_tokens(io.StringIO(source.read_text("utf-8")).readline)
        names = {each.string for each in tokens if each.type == tokenize.NAME}
        if wrong := sorted(each for each in names | {source.stem} if NAMES.fullmatch(each)):
            found[str(source.relative_to(ROOT))] = wrong
    assert found == {}
