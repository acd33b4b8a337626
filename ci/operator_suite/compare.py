"""Whether results are as good as PyTorch's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from ci.operator_suite.cases import Sample

FACTOR = 4
"""How many times PyTorch's own error, beside float64, an error may be."""


def difference(call: Sample, found: Sequence[Any], expected: Sequence[Any], is_open: bool) -> str:
    """What is wrong with the results of a call; nothing if they are near PyTorch's, or as near to
    those in float64 as PyTorch's are. Where values are open only types and shapes count."""
    if len(found) != len(expected):
        return f"{len(found)} results, not {len(expected)}"
    pairs = list(zip(found, expected, strict=True))
    for one, other in pairs:
        if kind(one) != kind(other):
            return f"{kind(one)}, not {kind(other)}"
    wrong = [n for n, pair in enumerate(pairs) if not is_open and not near(*pair)]
    exact = in_double(call) if wrong else []
    for number in wrong:
        one, other = pairs[number]
        true = exact[number] if len(exact) == len(pairs) else other
        ours, theirs = error(one, true), error(other, true)
        if not ours <= FACTOR * theirs + torch.finfo(torch.float32).eps:
            return f"off by {ours:.3g}, PyTorch by {theirs:.3g}"
    return ""


def kind(value: Any) -> tuple[Any, ...]:
    """What has to agree of a result whatever its values are."""
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape)
    return (type(value),)


def near(one: Any, other: Any) -> bool:
    """Whether two results agree by PyTorch's own tolerances."""
    try:
        torch.testing.assert_close(one, other, equal_nan=True, check_stride=False)
    except (AssertionError, ValueError, TypeError):
        return False
    return True


def in_double(call: Sample) -> list[Any]:
    """The results in float64; none where the operator does not take that."""
    try:
        return tree_leaves(call([wide(each) for each in call.tensors()]))
    except (RuntimeError, NotImplementedError):
        return []


def error(one: Any, exact: Any) -> float:
    """The largest distance of elements, relative to the largest one where that exceeds 1."""
    if not isinstance(one, torch.Tensor) or not isinstance(exact, torch.Tensor):
        return 0.0 if one == exact else float("inf")
    a, b = wide(one), wide(exact)
    if not torch.equal(a.isfinite(), b.isfinite()):
        return float("inf")
    both = a.isfinite()
    if not torch.equal(a[~both].nan_to_num(), b[~both].nan_to_num()):
        return float("inf")
    scale = max(1.0, b[both].abs().max().item() if both.any() else 1.0)
    return (a[both] - b[both]).abs().max().item() / scale if both.any() else 0.0


def wide(tensor: torch.Tensor) -> torch.Tensor:
    """Floats in float64; complex numbers and integers as they are, in their widest type."""
    if tensor.is_complex():
        return tensor.to(torch.complex128)
    return tensor.double() if tensor.is_floating_point() else tensor
