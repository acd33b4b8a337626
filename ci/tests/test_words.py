"""The pages that users read, and the comments and docstrings of sources, use the field's terms."""

import ast
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
SOURCES = sorted(
    [*ROOT.glob("packages/*/src/**/*.py"), *ROOT.glob("ci/*.py"), *ROOT.glob("benchmarks/**/*.py")]
)


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


NAMES = {
    "gang": "SIMT group",
    "inset": "output view",
    "sibling": "horizontal fusion",
    "staying": "preserved composite operator",
    "circumstance": "cache key",
    "steal": "weight donation",
    "lend": "weight aliasing",
    "fade": "rescale factor",
    "pile": "split-K partials",
    "seat": "persistent grid size",
    "pace": "latency model",
    "turn": "iteration",
    "ring": "pipeline",
    "told": "data-dependent, reported, given",
    "untold": "not computed",
    "meeting": "reduction of a cluster or of warps, barrier",
    "brought": "loaded",
    "handed": "forwarded",
    "crowd": "participants",
    "tops": "row max",
}
"""What each private word of names is called elsewhere, by its singular."""
PHRASES = re.compile(r"lets_?next|few_rows|handed_norm|closed_to", re.IGNORECASE)
ORIGINAL = {"steal_weights", "space_pace"}
"""Names of the original that users know."""


def introduced(source):
    """The names that a source introduces: of functions, classes, arguments, variables, fields."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname


def is_private(name):
    """Whether a name has a private word, or is a phrase of them; names of tests are sentences."""
    if name.startswith("test_"):
        return False
    words = {each.lower() for each in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}
    words |= {each.removesuffix("s") for each in words}
    return name not in ORIGINAL and (not words.isdisjoint(NAMES) or bool(PHRASES.search(name)))


def test_names_in_code_have_no_private_word():
    found = {}
    for source in SOURCES:
        names = {*introduced(source.read_text("utf-8")), source.stem}
        if wrong := sorted(filter(is_private, names)):
            found[str(source.relative_to(ROOT))] = wrong
    assert found == {}


def test_private_words_are_found_in_names():
    source = "def turns(a_ring, string): handedNorm = Told = 1; x.turned = return_value = 2"
    assert [each for each in introduced(source) if is_private(each)] == [
        "turns", "a_ring", "handedNorm", "Told",
    ]  # fmt: skip
