"""A few damaged models of ONNX's suite; `nox -s onnx_fuzz` tries many."""

import sys
from random import Random

import pytest
from onnx import TensorProto, helper

pytest.importorskip("ci", reason="the fuzzer is not beside tests of installed wheels")
from ci.onnx_fuzz.__main__ import main
from ci.onnx_fuzz.mutations import mutated

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")


def test_damaged_models_end_in_a_result_or_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--count", "200", "--every", "50"]) == 0, capsys.readouterr().out


def test_a_number_is_always_the_same_model() -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])
    y = helper.make_empty_tensor_value_info("y")
    model = helper.make_model(helper.make_graph([helper.make_node("Exp", "x", "y")], "g", [x], [y]))
    made = [mutated(model, Random(number)) for number in range(50)]
    assert made == [mutated(model, Random(number)) for number in range(50)]
    assert len({*made, model.SerializeToString()}) > 40
