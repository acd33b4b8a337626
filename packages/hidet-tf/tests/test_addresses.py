"""Whether tensors lie where they did: by the compiled function, and without it."""

import numpy as np
import pytest
import tensorflow as tf

from hidet_tf import addresses
from hidet_tf.addresses import remembered
from hidet_tf.variables import Variable, reader

KINDS = ("float32", "bfloat16", "int64", "bool", "uint8", "float64")


def variables(count: int) -> list[Variable]:
    kept = [
        tf.Variable(tf.cast(np.ones((3, n + 1)), KINDS[n % len(KINDS)]), name=f"v{n}")
        for n in range(count)
    ]
    made = [Variable(each.handle, each.dtype) for each in kept]
    for each, variable in zip(made, kept, strict=True):
        each.variable = variable  # TensorFlow's lives as long as ours
        each.take()
    return made


@pytest.fixture(params=["compiled", "through DLPack"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param != "compiled":
        monkeypatch.setattr(addresses, "compiled", lambda: None)
    return request.param


@pytest.mark.parametrize("count", [1, 2, 7, 129])
def test_each_write_is_seen_and_nothing_else(way: str, count: int) -> None:
    made = variables(count)
    read = reader(made)
    lie_there = remembered([each.held for each in made])
    assert lie_there(read())
    assert lie_there(read())
    for each in (made[0], made[count // 2], made[-1]):
        each.variable.assign(tf.constant(each.held.numpy()))  # the same values elsewhere
        assert not lie_there(read())
        each.take()
        lie_there = remembered([each.held for each in made])
        assert lie_there(read())


def test_this_tensorflow_is_asked_by_the_compiled_function() -> None:
    assert addresses.compiled() is not None
    assert addresses.by_function([0]) is not None


def test_an_unknown_tensorflow_is_asked_through_dlpack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "LIBRARIES", ("nowhere.so",))
    assert addresses.symbol("TF_NewStatus") is None
    monkeypatch.setattr(addresses, "compiled", addresses.compiled.__wrapped__)
    made = variables(2)
    assert remembered([each.held for each in made])(reader(made)())


def test_no_variables_lie_where_they_did(way: str) -> None:
    assert remembered([])([])
