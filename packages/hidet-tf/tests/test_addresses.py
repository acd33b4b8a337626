"""Whether variables lie where they did: by the compiled function, and without it."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf

from hidet_tf import addresses
from hidet_tf.addresses import remembered
from hidet_tf.tensors import place
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


@pytest.fixture(params=["compiled", "by Python"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param != "compiled":
        monkeypatch.setattr(addresses, "compiled", lambda: None)
    return request.param


def asked(made: list[Variable]) -> addresses.Asked:
    """What tells whether variables lie where they were taken."""
    handles, held = [each.handle for each in made], [each.held for each in made]
    return remembered(handles, held, reader(made))


@pytest.mark.parametrize("count", [1, 2, 7, 129])
def test_each_write_is_seen_and_nothing_else(way: str, count: int) -> None:
    made = variables(count)
    lie_there = asked(made)
    assert lie_there()
    assert lie_there()
    for each in (made[0], made[count // 2], made[-1]):
        each.variable.assign(tf.constant(each.held.numpy()))  # the same values elsewhere
        assert not lie_there()
        each.take()
        lie_there = asked(made)
        assert lie_there()


def test_nothing_that_was_read_is_kept() -> None:
    """What the compiled function reads would make each write go elsewhere, and never be freed."""
    variable = tf.Variable(np.zeros(1000, np.float32))
    made = [Variable(variable.handle, variable.dtype)]
    made[0].take()
    lie_there = asked(made)
    assert all(lie_there() for _ in range(3))
    places = set()
    for _ in range(9):  # in place, since nobody else has the buffer
        variable.assign_add(tf.ones(1000))
        assert not lie_there()
        places.add(place(variable.read_value()))
    assert len(places) == 1


def test_threads_ask_at_once(way: str) -> None:
    made = variables(129)
    lie_there = asked(made)
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda _: lie_there(), range(200)))
        made[64].variable.assign(tf.constant(made[64].held.numpy()))
        assert not any(pool.map(lambda _: lie_there(), range(200)))


def test_a_variable_that_cannot_be_read_lies_nowhere() -> None:
    """Python reads it next, and says what is wrong."""
    (made,) = variables(1)
    empty = tf.raw_ops.VarHandleOp(dtype=made.dtype, shape=made.held.shape, shared_name="empty")
    quick = addresses.by_function([empty], [made.held], [place(made.held)])
    assert quick is not None
    assert not quick()
    with pytest.raises(tf.errors.OpError, match=r"uninitialized|does not exist"):
        reader([Variable(empty, made.dtype)])()


def test_this_tensorflow_is_asked_by_the_compiled_function() -> None:
    assert addresses.compiled() is not None
    (made,) = variables(1)
    quick = addresses.by_function([made.handle], [made.held], [place(made.held)])
    assert quick is not None
    assert quick()


def test_an_unknown_tensorflow_is_asked_by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "LIBRARIES", ("nowhere.so",))
    assert addresses.symbol("TF_NewStatus") is None
    monkeypatch.setattr(addresses, "compiled", addresses.compiled.__wrapped__)
    assert asked(variables(2))()


def test_no_variables_lie_where_they_did(way: str) -> None:
    assert asked([])()
