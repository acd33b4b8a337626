"""What every operator must keep: types, meaning, text. A new operator is tested by existing."""

import math
from dataclasses import fields

import numpy as np
import pytest

from hidet import seams, types
from hidet.compute import evaluate, inline
from hidet.graph import OPERATORS, refer
from hidet.testing.compare import assert_close

seams.call("load_operators")
SAMPLES = [
    pytest.param(op, id=f"{name}-{number}")
    for name, kind in sorted(OPERATORS.items())
    for number, op in enumerate(kind.samples())
]
DEFINED = [each for each in SAMPLES if each.values[0].kind == "kernels"]


@pytest.mark.parametrize("op", DEFINED)
def test_definition_and_reference_agree(op):
    arrays = op.examples(seed=0)
    expected = refer(op, arrays)
    definition = op.definition()
    assert all(type(each) is np.ndarray for each in arrays)
    found = evaluate(definition, *arrays)
    inlined = evaluate(inline(definition), *arrays)
    assert len(found) == len(expected) == len(op.results())
    each = zip(found, inlined, expected, op.results(), op.precisions(), strict=True)
    for value, again, wanted, type_, of in each:
        assert value.shape == wanted.shape == type_.shape
        assert value.dtype == type_.dtype.numpy
        assert_close(value, wanted, of, op.factor)
        assert_close(again, wanted, of, op.factor)


@pytest.mark.parametrize("op", [each for each in SAMPLES if each.values[0].kind != "region"])
def test_text_reads_back(op):
    names = {each.short: each for each in types.DTYPES} | {"inf": math.inf, "nan": math.nan}
    assert eval(repr(op), {**names, type(op).__name__: type(op)}) == op


@pytest.mark.parametrize("kind", OPERATORS.values(), ids=OPERATORS.keys())
def test_operands_come_before_attributes(kind):
    names = [field.name for field in fields(kind)]
    op = next(iter(kind.samples()))
    assert set(names) >= set(op.attributes())
