"""How a script fails, for all tests of errors."""

import linecache

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
