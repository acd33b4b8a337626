"""Strings: cleaned, and matched with patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from hidet.errors import BadArgument
from hidet_onnx.host.packages import package

Texts = np.ndarray[Any, Any]
CASES: dict[str, Callable[[str], str]] = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}


def string_normalizer(
    x: Texts, *, case_change_action: str = "NONE", is_case_sensitive: int = 0, locale: str = "",
    stopwords: Sequence[str] = (),
) -> Texts:  # fmt: skip
    """Strings [n] or [1, n] that are no stop words, in one case.

    Upper and lower case are Unicode's, whatever the locale: the process has one locale only, which
    is not changed. One empty string stays where none is left.
    """
    change = CASES.get(case_change_action)
    if change is None:
        raise BadArgument(f"StringNormalizer has no case {case_change_action!r}")
    if not (x.ndim == 1 or (x.ndim == 2 and x.shape[0] == 1)):
        raise BadArgument(f"StringNormalizer takes [n] or [1, n], not {list(x.shape)}")
    alike: Callable[[str], str] = str if is_case_sensitive else str.lower
    stops = set(map(alike, stopwords))
    found = [change(each) for each in map(str, x.flat) if alike(each) not in stops]
    return as_texts(found or [""]).reshape((1,) * (x.ndim - 1) + (-1,))


def regex_full_match(x: Texts, *, pattern: str) -> Texts:
    """Whether the whole of each string matches a pattern of RE2."""
    compiled = compiled_pattern(pattern)
    found = [compiled.fullmatch(text) is not None for text in map(str, x.flat)]
    return np.array(found, bool).reshape(x.shape)


def compiled_pattern(text: str) -> Any:
    """A pattern of RE2, which takes linear time; of several matches it finds the longest."""
    re2 = package("re2")
    options = re2.Options()
    options.longest_match = True
    try:
        return re2.compile(text, options)
    except re2.error as error:
        raise BadArgument(f"{text!r} is no pattern of RE2: {error}") from None


def as_texts(values: Iterable[str]) -> Texts:
    """Strings as numpy keeps them for us."""
    given = list(values)
    found = np.empty(len(given), object)
    found[:] = given
    return found
