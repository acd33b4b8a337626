"""What loops show of the values that they carry."""

import tensorflow as tf

from hidet_tf.importing.induction import Amount, Bound, Induction
from hidet_tf.importing.walk import function_graph


def induction(function, *specs) -> Induction:
    """That of the one loop in a function."""
    graph = tf.function(function).get_concrete_function(*specs).graph
    (loop,) = [each for each in graph.get_operations() if each.type.endswith("While")]
    return Induction(*(function_graph(graph, loop.get_attr(n).name) for n in ("cond", "body")))


NUMBER, ROW = tf.TensorSpec((), tf.int32), tf.TensorSpec((3,))


def test_a_counter_and_what_stays() -> None:
    def function(x, n):
        return tf.while_loop(
            lambda i, x, n: i < n, lambda i, x, n: (i + 2, x * 2, tf.identity(n)), (0, x, n)
        )

    found = induction(function, ROW, NUMBER)
    counter, limit = 2, 4  # after TensorFlow's own counter and bound
    assert found.steps[counter] == Amount(number=2)
    assert limit in found.invariant
    assert 3 not in found.invariant
    assert 3 not in found.steps
    assert found.conditions == [Bound(counter, Amount(limit), True, 0)]


def test_a_bound_of_tensorflow_itself() -> None:
    def function(x):
        return tf.while_loop(
            lambda i, x: i <= 5, lambda i, x: (1 + i, x), (0, x), maximum_iterations=3
        )

    found = induction(function, ROW)
    assert Bound(2, Amount(number=5), True, 1) in found.conditions
    assert None not in found.conditions
    assert len(found.conditions) == 2


def test_what_is_no_bound() -> None:
    def doubled(x):
        return tf.while_loop(lambda i, x: i < 5, lambda i, x: (i * 2, x), (1, x))

    assert induction(doubled, ROW).conditions == [None]

    def moving(i, n):
        return i + 1, n - 1

    found = induction(lambda n: tf.while_loop(lambda i, n: i < n, moving, (0, n)), NUMBER)
    assert found.conditions == [None]
    assert found.steps[2] == Amount(number=1)
    assert found.steps[3] == Amount(number=-1)


def test_a_step_that_is_carried_along() -> None:
    def function(x, n):
        for _ in tf.range(n):
            x = x * 2
        return x

    found = induction(function, ROW, NUMBER)
    (bound,) = found.conditions
    assert bound is not None
    assert found.steps[bound.counter].at in found.invariant
