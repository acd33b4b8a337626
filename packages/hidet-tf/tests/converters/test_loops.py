"""Loops: iterations by a count, by data, and those that are taken into the graph."""

import numpy as np
import pytest
import tensorflow as tf

RNG = np.random.default_rng(0)


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def loops(compiled) -> list:
    return [each.op for each in compiled.graph.nodes if each.op.name == "loop"]


@pytest.mark.parametrize("iterations", [0, 1, 7])
def test_iterations_that_a_call_counts(check, iterations: int) -> None:
    def function(x, iterations):
        for _ in tf.range(iterations):
            x = x * 0.5 + 1
        return x

    (loop,) = loops(check(function, random(5), np.int32(iterations)))
    assert loop.go_on is None
    assert loop.trips is not None


def test_a_counter_that_begins_elsewhere_and_takes_steps(check) -> None:
    def function(x, start, end):
        def iteration(i, x):
            return i + 3, x * 0.5 + tf.cast(i, x.dtype)

        return tf.while_loop(lambda i, x: i < end, iteration, (start, x))

    (loop,) = loops(check(function, random(5), np.int32(2), np.int32(12)))
    assert loop.go_on is None
    check(function, random(5), np.int32(2), np.int32(11))
    check(function, random(5), np.int32(12), np.int32(2))


@pytest.mark.parametrize("goes_on", [lambda i: i > 2, lambda i: i >= 2], ids=["above", "least"])
def test_a_counter_that_counts_down(check, goes_on) -> None:
    def function(x, start):
        return tf.while_loop(lambda i, x: goes_on(i), lambda i, x: (i - 2, x + 1), (start, x))

    for start in (1, 2, 3, 9, 10):
        check(function, random(5), np.int32(start))


def test_a_condition_that_data_decide(check) -> None:
    def function(x):
        return tf.while_loop(lambda x: x[0] * x[0] < 50, lambda x: (x * 2,), (x,))

    (loop,) = loops(check(function, np.array([0.3, 5], np.float32)))
    assert loop.go_on is not None


def test_a_counter_that_goes_away_from_its_bound_is_none(check) -> None:
    def function(x):
        return tf.while_loop(
            lambda i, x: tf.logical_and(i < 5, x[0] < 9), lambda i, x: (i - 1, x + 1), (0, x)
        )

    (loop,) = loops(check(function, random(3)))
    assert loop.go_on is not None
    assert loop.trips is None


def test_two_bounds_and_a_condition(check) -> None:
    def function(x, most):
        def goes_on(i, x):
            return tf.logical_and(i < 10, tf.logical_and(i < most, x[0] < 9))

        return tf.while_loop(goes_on, lambda i, x: (i + 1, x + 2), (0, x))

    for most, first in ((3, 0.0), (20, -99.0), (20, 2.0)):
        x = np.array([first, 1], np.float32)
        check(function, x, np.int32(most))


@pytest.mark.parametrize("rows", [1, 2, 7, 129])
def test_a_map_over_rows(check, rows: int) -> None:
    def function(x):
        return tf.map_fn(lambda row: row * 2 + 1, x)

    check(function, random(rows, 3))


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_and_a_fold(check, reverse: bool) -> None:
    fold = tf.foldr if reverse else tf.foldl

    def function(x):
        all_rows = tf.scan(lambda before, row: before * 0.5 + row, x, reverse=reverse)
        return all_rows, fold(lambda before, row: before * row + 1, x)

    check(function, random(7, 3))


def test_a_loop_within_a_loop(check) -> None:
    def function(x):
        def row(given):
            return tf.map_fn(lambda each: each * 2 + given[0], given)

        return tf.map_fn(row, x)

    check(function, random(5, 3))


def test_iterations_change_a_shape(check) -> None:
    def function(x):
        i = tf.constant(0)
        loop = tf.while_loop(
            lambda i, x: i < 3,
            lambda i, x: (i + 1, x @ tf.ones((tf.shape(x)[1], 2), x.dtype)),
            (i, x),
            shape_invariants=(i.shape, tf.TensorShape((5, None))),
        )
        return loop[1]

    assert not loops(check(function, random(5, 3)))


def test_a_body_reads_weights_and_what_it_carries_without_need(check) -> None:
    weight = tf.constant(random(4, 4) * 0.5)

    def function(x, iterations):
        other = tf.cast(weight, x.dtype)
        fixed = x * 2

        def iteration(i, x, w, same):
            return i + 1, tf.tanh(x @ w + same), w, same

        return tf.while_loop(lambda i, *_: i < iterations, iteration, (0, x, other, fixed))[1]

    (loop,) = loops(check(function, random(7, 4), np.int32(5)))
    assert len(loop.carried) == 1
