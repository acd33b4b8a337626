"""Choices: what the one or the other graph gives."""

import numpy as np
import pytest
import tensorflow as tf

import hidet_tf

RNG = np.random.default_rng(0)


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def regions(compiled) -> list[str]:
    return [each.op.name for each in compiled.graph.nodes if each.op.name in ("if", "loop")]


@pytest.mark.parametrize("size", [1, 2, 7, 129])
@pytest.mark.parametrize("flag", [True, False])
def test_one_of_two_graphs(check, flag: bool, size: int) -> None:
    def function(x, flag):
        return tf.cond(flag, lambda: tf.exp(x) + 1, lambda: x * 2)

    assert regions(check(function, random(size), flag)) == ["if"]


def test_a_condition_that_is_a_number_holds_unless_it_is_0(check) -> None:
    def function(x, number):
        then = tf.function(lambda x: x + 1).get_concrete_function(x)
        other = tf.function(lambda x: x - 1).get_concrete_function(x)
        (found,) = tf.raw_ops.StatelessIf(
            cond=number, input=[x], Tout=[x.dtype], then_branch=then, else_branch=other
        )
        return tf.ensure_shape(found, x.shape)

    for number in (0, 3):
        check(function, random(5), np.int32(number))


def test_a_choice_that_is_known_is_none(check) -> None:
    def function(x):
        return tf.cond(tf.constant(True), lambda: x + 1, lambda: x * 2)

    assert not regions(check(function, random(5)))


def test_branches_read_what_is_around_them(check) -> None:
    weights = tf.constant(random(3, 3))

    def function(x, flag):
        y = x * 2
        other = tf.cast(weights, x.dtype)
        return tf.cond(flag, lambda: y @ other, lambda: x + y)

    for flag in (True, False):
        check(function, random(7, 3), flag)


def test_branches_within_branches_give_several_results(check) -> None:
    def function(x, one, two):
        def inner():
            return tf.cond(two, lambda: (x + 1, x), lambda: (x - 1, x * x))

        return tf.cond(one, inner, lambda: (x * 5, tf.exp(x)))

    for one in (True, False):
        for two in (True, False):
            check(function, random(5), one, two)


@pytest.mark.parametrize("number", [-1, 0, 1, 2, 3])
def test_one_of_several_graphs_the_last_where_there_is_none(check, number: int) -> None:
    def function(x, number):
        return tf.switch_case(number, [lambda: x + 1, lambda: x * 2, lambda: tf.exp(x)])

    check(function, random(7), np.int32(number))


def test_a_branch_reads_a_variable() -> None:
    variable = tf.Variable(random(3))

    @tf.function
    def function(x, flag):
        return tf.cond(flag, lambda: x * variable, lambda: x)

    specs = tf.TensorSpec((3,)), tf.TensorSpec((), tf.bool)
    compiled = hidet_tf.compile(function, *specs, options={"fallback": "error"})
    x = random(3)
    assert np.array_equal(compiled(x, True), x * variable.numpy())
    assert np.array_equal(compiled(x, False), x)
