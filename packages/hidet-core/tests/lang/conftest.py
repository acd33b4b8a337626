"""How a script fails, for all tests of errors."""

import linecache
import re
from textwrap import dedent

import pytest

from hidet.errors import HidetError
from hidet.lang.capture import capture
from hidet.lang.transcribe import transcribe


@pytest.fixture
def fails():
    """A check that transcribing a function fails, at which text, and saying what."""
    return check


def check(function, marked, message, help, kind):
    with pytest.raises(HidetError) as caught:
        transcribe(capture(function))
    error = caught.value
    assert type(error) is kind
    assert matches(error.message, message, function), error.message
    assert help in (error.help or "")
    line = linecache.getline(error.place.file, error.place.line)
    found = line[error.place.column : error.place.end_column]
    assert found == (f"def {function.__name__}(a: f32[8]):" if marked == "{def}" else marked)


def matches(found, expected, function):
    """Whether a message is the expected one; `{any}` stands for any text."""
    expected = expected.replace("{+2}", str(function.__code__.co_firstlineno + 2))
    head, _, tail = expected.partition("{any}")
    return (
        found.startswith(head)
        and found.endswith(tail)
        and ("{any}" in expected or found == expected)
    )


@pytest.fixture
def says():
    """A check that calling a function fails with a text."""
    return check_text


def check_text(mistake, expected, *others):
    """`{here}:3:5` in the text is the third line of the mistake; `{name}:3:5` one of others."""
    with pytest.raises(HidetError) as caught:
        mistake()
    code = mistake.__code__
    text = numbered(dedent(expected), "{here}", code.co_filename, code.co_firstlineno)
    for each in others:
        text = numbered(text, f"{{{each.name}}}", each.source.file, each.source.first)
    assert str(caught.value) == text


def numbered(text, name, file, first):
    """Lines counted from a function's first as lines of its file."""
    return re.sub(
        re.escape(name) + r":(\d+):", lambda at: f"{file}:{first + int(at[1]) - 1}:", text
    )
