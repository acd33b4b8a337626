"""How often sequences of tokens occur."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from hidet import ops
from hidet.errors import BadArgument, NotYet
from hidet.graph import Tensor
from hidet.types import f32, i64
from hidet_onnx.converters.known import constant
from hidet_onnx.converters.table import onnx

Grams = np.ndarray[tuple[int, int], np.dtype[np.int64]]


@onnx("TfIdfVectorizer", since=9)
def tf_idf_vectorizer(
    x: Tensor, *, max_gram_length: int, max_skip_count: int, min_gram_length: int, mode: str,
    ngram_counts: Sequence[int], ngram_indexes: Sequence[int],
    pool_int64s: Sequence[int] | None = None, pool_strings: Sequence[str] | None = None,
    weights: Sequence[float] | None = None,
) -> Tensor:  # fmt: skip
    """[rows, columns]: for each n-gram of the pool how often it occurs in a row, weighed by mode.

    Tokens of one occurrence are up to `max_skip_count` others apart, all equally far.
    """
    if pool_int64s is None:
        raise NotYet("n-grams of strings")
    rows = ops.reshape(x, (1, -1)) if x.ndim < 2 else x
    length = rows.shape[1]
    if not isinstance(length, int):
        raise NotYet("n-grams of rows of a length that only a call tells")
    counts = []
    for size, grams in enumerate(by_size(pool_int64s, ngram_counts), 1):
        skips = range(1 if size == 1 else max_skip_count + 1)
        is_asked = min_gram_length <= size <= max_gram_length
        found = [occurrences(rows, grams, skip + 1, length) for skip in skips if is_asked]
        given = [each for each in found if each is not None]
        nothing = ops.zeros((rows.shape[0], len(grams)), i64, device=x.device)
        counts.append(reduce(ops.add, given, nothing))
    columns = max(ngram_indexes) + 1
    empty = ops.zeros((rows.shape[0], columns), i64, device=x.device)
    total = ops.index_add(empty, 1, constant(ngram_indexes, i64), ops.concat(counts, 1))
    result = weighed(total, mode, weights)
    return ops.reshape(result, (columns,)) if x.ndim < 2 else result


def by_size(pool: Sequence[int], starts: Sequence[int]) -> list[Grams]:
    """The n-grams [count, n] of the pool for n = 1, 2, ..., all of one n together."""
    ends = [*starts[1:], len(pool)]
    found = []
    for size, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        if (end - start) % size:
            raise BadArgument(f"{end - start} tokens are no n-grams of {size}")
        found.append(np.asarray(pool[start:end], np.int64).reshape(-1, size))
    return found


def occurrences(rows: Tensor, grams: Grams, step: int, length: int) -> Tensor | None:
    """[rows, count]: how often each n-gram occurs with tokens `step` apart; None if it cannot."""
    count, size = grams.shape
    places = length - (size - 1) * step
    if places <= 0 or not count:
        return None
    tokens = [ops.slice(rows, 1, at * step, at * step + places) for at in range(size)]
    fits = [
        ops.equal(ops.unsqueeze(each, 2), constant(grams[:, at], rows.dtype))
        for at, each in enumerate(tokens)
    ]
    return ops.sum(ops.cast(reduce(ops.logical_and, fits), i64), 1)


def weighed(counts: Tensor, mode: str, weights: Sequence[float] | None) -> Tensor:
    """Counts as they are, or the weights of what occurs, once or as often as it does."""
    if mode not in ("TF", "IDF", "TFIDF"):
        raise BadArgument(f"TfIdfVectorizer has no mode {mode!r}", help="use TF, IDF or TFIDF")
    often = ops.cast(counts, f32)
    if mode == "IDF":
        often = ops.cast(ops.greater(counts, 0), f32)
    return ops.multiply(often, constant(weights, f32)) if weights and mode != "TF" else often
