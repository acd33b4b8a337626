"""What is converted, compiled: on the CPU all of a family at once, in the simulator some of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
import tensorflow as tf
from op_cases import FAMILIES, Case

import hidet_tf
from hidet.options import options
from hidet.testing.compare import assert_close
from hidet.types import dtype


def results(cases: Sequence[Case]) -> list[np.ndarray]:
    """What one compiled function of all cases gives."""
    counts = [len(each.inputs) for each in cases]
    ends = np.cumsum([0, *counts])

    def whole(*given: tf.Tensor) -> list[tf.Tensor]:
        parts = [given[start:end] for start, end in pairwise(ends)]
        return tf.nest.flatten([c.run(*part) for c, part in zip(cases, parts, strict=True)])

    inputs = [array for each in cases for array in each.inputs]
    specs = [tf.TensorSpec(each.shape, each.dtype) for each in inputs]
    compiled = hidet_tf.compile(whole, *specs, options={"fallback": "error"})
    return [np.asarray(each) for each in compiled(*inputs)]


def agree(cases: Sequence[Case]) -> None:
    """What is computed in float32 is close to what TensorFlow computes in float64."""
    found = iter(results(cases))
    for each in cases:
        for expected in each.expected():
            one = next(found)
            assert one.shape == expected.shape, each.name
            assert_close(one, expected, dtype(one.dtype), each.ulps)


@pytest.mark.parametrize("family", FAMILIES)
def test_on_the_cpu(family: str) -> None:
    agree(FAMILIES[family])


@pytest.mark.parametrize("family", FAMILIES)
def test_in_the_simulator(family: str) -> None:
    with options(target="sim"):
        agree(FAMILIES[family][:1])
