"""ONNX's operators beside ONNX Runtime: which models are measured, and that both have to agree."""

import numpy as np
import pytest
from onnx import ModelProto, helper

from benchmarks import onnx_operators
from benchmarks.enlarged_onnx import enlarged, is_measurable, longer
from benchmarks.measure.beside import WANTED
from benchmarks.onnx_operators import require_alike
from ci.onnx_suite.cases import cases


@pytest.mark.parametrize(
    "name", ["test_exp", "test_softmax_axis_0", "test_gather_0", "test_matmul_2d", "test_top_k"]
)
def test_models_read_about_a_megabyte(name):
    model, data = cases()[name].load()
    call = enlarged(model, data[0][0])
    assert WANTED / 4 <= call.nbytes <= WANTED * 4
    assert call.session().run(None, dict(call.inputs))


def test_sizes_and_axes_are_constants_of_the_model():
    model, data = cases()["test_reshape_reordered_all_dims"].load()
    call = enlarged(model, data[0][0])
    assert [*call.inputs] == ["data"]
    assert [each.name for each in call.model.graph.initializer] == ["shape"]


def test_numbers_stay_numbers():
    """ONNX Runtime takes more of them, and looks at the first."""
    model, data = cases()["test_nonmaxsuppression_center_point_box_format"].load()
    call = enlarged(model, data[0][0])
    assert [*call.inputs] == ["boxes", "scores"]
    held = {each.name: tuple(each.dims) for each in call.model.graph.initializer}
    assert held["iou_threshold"] == held["score_threshold"] == (1,)


def test_inputs_are_repeated_alike():
    arrays = {"x": np.zeros((2, 3), np.float32), "y": np.zeros((3, 5), np.float32)}
    (found,) = longer(arrays, {"x": [1], "y": [0]})
    assert found["x"].shape[1] == found["y"].shape[0]
    assert not [*longer(arrays, {})]


def test_only_single_operators_on_numbers_are_measured():
    model, _ = cases()["test_relu"].load()
    assert is_measurable(model)
    two = ModelProto()
    two.CopyFrom(model)
    two.graph.node.append(helper.make_node("Relu", ["y"], ["z"]))
    assert not is_measurable(two)


def test_results_have_to_agree():
    x = np.arange(10, dtype=np.float32)
    require_alike([x], [x + 1e-3])
    with pytest.raises(ValueError, match=r"10\.00% of elements differ"):
        require_alike([x], [np.where(x == 9, 8, x)])
    with pytest.raises(ValueError, match=r"shapes are \(9,\), not \(10,\)"):
        require_alike([x], [x[1:]])


def test_cases_are_measured_that_are_asked_for(capsys):
    assert onnx_operators.main(["^test_relu$", "--seconds", "0"]) == 0
    assert "1 operators" in capsys.readouterr().out
