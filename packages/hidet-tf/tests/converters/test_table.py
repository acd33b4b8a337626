"""The table of converters: each is tried by a case, and passes no attribute over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from op_cases import CASES
from tensorflow.python.framework import op_def_registry

from hidet_tf.converters import load
from hidet_tf.converters import tf as table
from hidet_tf.converters.complex import COMPLEX
from hidet_tf.importing.attributes import keywords
from hidet_tf.importing.complex import is_complex
from hidet_tf.importing.walk import walk

load()
ELSEWHERE = ("variables", "control", "loops", "lists")
"""Modules whose converters take more than tensors: other tests try them."""
OWN = sorted(name for name in table if table.find(name).__module__.split(".")[-1] not in ELSEWHERE)

MEANINGLESS = {
    "use_cudnn_on_gpu", "grad_a", "grad_b", "grad_x", "grad_y", "message", "validate_indices",
    "_dst_dtype", "_src_dtype",
}  # fmt: skip
"""Attributes that say nothing of values."""
WIDTHS = {"Tcomplex", "Treal", "Tout"}
"""The types of complex numbers and of their parts, each of which tells the other."""
BY_OPERATOR = {
    ("EnsureShape", "shape"): "a call checks what is assumed of sizes",
    ("Equal", "incompatible_shape_error"): "shapes that do not broadcast are an error",
    ("NotEqual", "incompatible_shape_error"): "shapes that do not broadcast are an error",
    ("TopKV2", "sorted"): "in order is one of the orders that it may give",
}


def test_every_converter_is_tried_by_a_case() -> None:
    tried = {
        (COMPLEX if is_complex(node.op) else "") + node.op.type
        for case in CASES
        for node in walk(case.concrete().graph)
    }
    assert {*OWN} - tried == set()


def told_elsewhere(name: str) -> Iterator[str]:
    """The attributes that operands tell, or how many results there are of."""
    definition = op_def_registry.get(name.removeprefix(COMPLEX))
    for each in (*definition.input_arg, *definition.output_arg):
        yield from filter(None, (each.number_attr, each.type_list_attr))
    yield from (each.type_attr for each in definition.input_arg if each.type_attr)


@pytest.mark.parametrize("name", OWN)
def test_a_converter_names_every_attribute_that_has_a_meaning(name: str) -> None:
    convert = table.find(name)
    assert convert is not None
    own = {each.name for each in op_def_registry.get(name.removeprefix(COMPLEX)).attr}
    own -= WIDTHS if name.startswith(COMPLEX) else set()
    passed = own - keywords(convert) - {*told_elsewhere(name)} - MEANINGLESS
    assert {each for each in passed if (name, each) not in BY_OPERATOR} == set()
