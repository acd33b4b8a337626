"""Tokens: what a text is cut into, by the patterns of `com.microsoft.Tokenizer`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from onnx import TensorProto, TypeProto, helper

from hidet.errors import BadArgument
from hidet_onnx.host.strings import Texts, as_texts, compiled_pattern

START, END = "\x02", "\x03"
"""What stands before and after the tokens of a text that are marked."""

Cut = Callable[[str], list[str]]


def tokenizer(
    x: Texts, *, mark: int, mincharnum: int, pad_value: str, separators: Sequence[str] = (),
    tokenexp: str = "",
) -> Texts:  # fmt: skip
    """The tokens of at least `mincharnum` characters of texts [n] or [m, n], along a new last axis.

    Tokens are what `tokenexp` matches, what stands between the `separators`, or single characters
    where the only separator is empty. Rows are filled up with `pad_value`; the axis is empty where
    no text has any token.
    """
    if x.ndim not in (1, 2):
        raise BadArgument(f"Tokenizer takes [n] or [m, n], not {list(x.shape)}")
    if mincharnum < 1:
        raise BadArgument(f"Tokenizer takes a mincharnum of 1 or more, not {mincharnum}")
    cut = cutter(separators, tokenexp)
    rows = [[t for t in cut(text) if len(t) >= mincharnum] for text in map(str, x.flat)]
    if mark and any(rows):
        rows = [[START, *row, END] for row in rows]
    length = max(map(len, rows), default=0)
    padded = (row + [pad_value] * (length - len(row)) for row in rows)
    return as_texts(chain.from_iterable(padded)).reshape((*x.shape, length))


def tokens_type(x: TypeProto) -> TypeProto:
    """The type of the tokens of texts: how many there are only a call tells."""
    sizes = [each.dim_value or each.dim_param or None for each in x.tensor_type.shape.dim]
    return helper.make_tensor_type_proto(TensorProto.STRING, [*sizes, None])


def cutter(separators: Sequence[str], tokenexp: str) -> Cut:
    """What cuts a text into its tokens."""
    if list(separators) == [""]:
        return list
    if separators:
        patterns = [compiled_pattern(each) for each in separators]
        for each in patterns:
            if each.fullmatch("") is not None:
                raise BadArgument(
                    f"the separator {each.pattern!r} of Tokenizer matches the empty text",
                    help="give a pattern of at least one character, or [''] for single characters",
                )
        return lambda text: between(text, patterns)
    if not tokenexp:
        raise BadArgument("Tokenizer needs separators or a tokenexp")
    token = compiled_pattern(tokenexp)
    return lambda text: [each.group() for each in token.finditer(text) if each.group()]


def between(text: str, patterns: Sequence[Any]) -> list[str]:
    """The parts of a text between what patterns match, each of which cuts what the one before
    left."""
    parts = [text]
    for each in patterns:
        parts = [rest for part in parts for rest in outside(part, each)]
    return parts


def outside(text: str, separator: Any) -> list[str]:
    """The parts of a text that a pattern does not match."""
    parts, start = [], 0
    for each in separator.finditer(text):
        parts.append(text[start : each.start()])
        start = each.end()
    return [*parts, text[start:]]
