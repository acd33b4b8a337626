import numpy as np
import pytest

from hidet.errors import BadArgument
from hidet.graph import Tensor, asarray, filled, from_numpy, randn, symbol, symbol_like, tracing
from hidet.types import boolean, f16, f32, f64, i32, i64


def test_text_of_tensors():
    assert repr(filled((2, 2), 1.5)) == (
        "Tensor(shape=(2, 2), dtype='float32', device='cpu')\n[[1.5 1.5]\n [1.5 1.5]]"
    )
    x = symbol((2, 3), device="cuda")
    assert repr(x) == "Tensor(shape=(2, 3), dtype='float32', device='cuda:0')"
    with tracing():
        y = x.relu()
    assert repr(y).endswith("\nfrom (<Relu(x=f32[2, 3])>, 0)")


def test_values_that_the_host_holds_of_a_tensor_of_a_gpu_are_there_for_the_cpu():
    """As constants of models that are compiled for a GPU."""
    held = Tensor(asarray([1.0, 2.0]).type, "cuda:0", np.array([1, 2], np.float32))
    assert held.cpu().numpy().tolist() == held.tolist() == [1.0, 2.0]


def test_making_tensors():
    assert [asarray(each).dtype for each in (1, 1.5, True)] == [i64, f32, boolean]
    assert asarray([1, 2], "float16").dtype is f16
    assert asarray(np.zeros(3)).dtype is f64
    assert randn((2, 3), seed=0).numpy().shape == (2, 3)
    assert (randn((4,), seed=3).numpy() == randn((4,), seed=3).numpy()).all()
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    assert from_numpy(array).numpy() is array
    assert from_numpy(array.T).numpy().flags.c_contiguous
    like = symbol_like(from_numpy(array))
    assert like.is_symbolic
    assert (like.shape, like.dtype, like.size, len(like)) == ((2, 3), i32, 6, 2)


def test_what_a_symbolic_tensor_does_not_have():
    x = symbol((2,))
    with pytest.raises(BadArgument, match="has no values"):
        x.numpy()
    with pytest.raises(BadArgument, match="not known yet"):
        bool(x)
    with pytest.raises(BadArgument, match="no device 'tpu'"):
        symbol((2,), device="tpu")
    with pytest.raises(TypeError, match="not iterable"):
        list(x)


def test_python_operators_become_nodes():
    x, y = symbol((2, 3)), symbol((3,))
    made = {
        "Add": x + y, "Subtract": 1 - x, "Multiply": 2 * x, "Divide": x / y, "FloorDivide": x // y,
        "Remainder": x % 2, "Pow": x**y, "Less": x < y, "Equal": x == y, "Negative": -x,
        "Absolute": abs(x), "Matmul": x @ symbol((3, 4)), "Greater": x > 0, "Softmax": x.softmax(1),
    }  # fmt: skip
    for name, tensor in made.items():
        assert isinstance(tensor, Tensor)
        assert type(tensor.trace[0].op).__name__ == name
    assert x.matmul(symbol((3, 4))).trace[0].op == made["Matmul"].trace[0].op
    assert (x == y).dtype is boolean
    assert x[0, 1:].shape == (2,)
    assert (1 - x).trace[0].inputs[1] is x
