"""Maps from keys to numbers, and categories that are strings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hidet.errors import BadArgument
from hidet_onnx.host.strings import as_texts

Array = np.ndarray[Any, Any]


def category_mapper(
    x: Array, *, cats_int64s: Sequence[int], cats_strings: Sequence[str], default_int64: int = -1,
    default_string: str = "_Unused",
) -> Array:  # fmt: skip
    """Numbers for strings, or strings for numbers, by two lists of the same length."""
    if len(cats_int64s) != len(cats_strings):
        raise BadArgument("CategoryMapper has lists of different lengths")
    if x.dtype.kind in "OUS":
        numbers = dict(zip(cats_strings, cats_int64s, strict=True))
        found = [numbers.get(str(each), default_int64) for each in x.flat]
        return np.array(found, np.int64).reshape(x.shape)
    texts = dict(zip(cats_int64s, cats_strings, strict=True))
    return as_texts(texts.get(int(n), default_string) for n in x.flat).reshape(x.shape)


def dict_vectorizer(
    x: Mapping[Any, Any], *, int64_vocabulary: Sequence[int] | None = None,
    string_vocabulary: Sequence[str] | None = None,
) -> Array:  # fmt: skip
    """[1, n]: the value of each key of the vocabulary, 0 or an empty string where there is none."""
    keys = int64_vocabulary or string_vocabulary or ()
    values = list(x.values())
    if values and isinstance(values[0], str):
        return as_texts(x.get(key, "") for key in keys).reshape(1, -1)
    kind = np.result_type(*values) if values else np.dtype(np.float32)
    return np.array([[x.get(key, 0) for key in keys]], kind)


def zip_map(
    x: Array, *, classlabels_int64s: Sequence[int] | None = None,
    classlabels_strings: Sequence[str] | None = None,
) -> list[dict[Any, Any]]:  # fmt: skip
    """For each row a map from labels to the row's numbers."""
    labels = classlabels_int64s or classlabels_strings or ()
    rows = x.reshape(1, -1) if x.ndim == 1 else x
    if rows.shape[1] != len(labels):
        raise BadArgument(f"ZipMap has {len(labels)} labels for rows of {rows.shape[1]}")
    return [dict(zip(labels, row.tolist(), strict=True)) for row in rows]


def cast_map(
    x: Mapping[int, Any], *, cast_to: str = "TO_FLOAT", map_form: str = "DENSE", max_map: int = 1
) -> Array:
    """[1, n]: the values of a map, by their keys if it is sparse, else by the order of these."""
    pairs = sorted(x.items())
    if map_form == "SPARSE":
        values: list[Any] = [dict(pairs).get(key, "") for key in range(max_map)]
    else:
        values = [value for _, value in pairs]
    if cast_to == "TO_STRING":
        return as_texts(map(str, values)).reshape(1, -1)
    kinds = {"TO_FLOAT": np.float32, "TO_INT64": np.int64}
    if cast_to not in kinds:
        raise BadArgument(f"CastMap has no target {cast_to!r}")
    return np.array([[float(each or 0) for each in values]]).astype(kinds[cast_to])
