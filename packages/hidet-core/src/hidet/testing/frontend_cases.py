"""Small models that every frontend has to compile alike, by what they test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hidet.testing.frontend_author import Array, InNumpy

Axes = Mapping[int, Mapping[int, str]]


@dataclass(frozen=True)
class Case:
    """A model: `build(author, *inputs)` gives its result, or a tuple of several.

    `shapes` are those of the inputs, float32 at random, or whole numbers below `below` (int64)
    where that is given. `varying` names the axes, by input, whose sizes calls decide; `others` are
    shapes of further calls.
    """

    name: str
    family: str
    build: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    below: Mapping[int, int] = field(default_factory=dict)
    varying: Axes = field(default_factory=dict)
    others: tuple[tuple[tuple[int, ...], ...], ...] = ()

    def __str__(self) -> str:
        return f"{self.family}-{self.name}"

    def inputs(self, call: int = 0) -> list[Array]:
        """Values for a call: the first has the usual shapes."""
        random = np.random.default_rng(7 + call)
        shapes = (self.shapes, *self.others)[call]
        return [
            random.integers(0, self.below[position], shape)
            if position in self.below
            else random.standard_normal(shape).astype(np.float32)
            for position, shape in enumerate(shapes)
        ]

    def expected(self, inputs: Sequence[Array]) -> list[Array]:
        """What has to come out, computed in float64."""
        wide = [each.astype(np.float64) if each.dtype.kind == "f" else each for each in inputs]
        found = self.build(InNumpy(), *wide)
        return [*map(np.asarray, found)] if isinstance(found, tuple) else [np.asarray(found)]


def held(*shape: int) -> Array:
    """A weight."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


CASES: list[Case] = []


def rows(family: str, table: Mapping[str, tuple[Any, ...]], **more: Any) -> None:
    """File cases by name: what each computes, then the shapes of its inputs."""
    for name, (build, *shapes) in table.items():
        CASES.append(Case(name, family, build, tuple(shapes), **more))


PICTURES, HEADS = (2, 6, 7, 9), (1, 3, 7, 16)

rows(
    "elementwise",
    {
        "arithmetic": (
            lambda f, x, y: f.divide(f.subtract(f.multiply(x, y), x), f.exp(y)),
            (5, 7),
            (5, 7),
        ),
        "broadcast": (lambda f, x, y: f.add(x, y), (5, 1), (1, 129)),
        "no_axes": (lambda f, x, y: f.multiply(x, y), (), (3,)),
        "activations": (lambda f, x: f.multiply(f.sigmoid(x), f.relu(f.tanh(x))), (2, 129)),
        "select": (
            lambda f, x, y: f.where(f.less(x, y), x, f.maximum(y, f.constant(held(7)))),
            (3, 7),
            (3, 7),
        ),
        "to_integers": (lambda f, x: f.to_int(f.multiply(x, f.constant(held(1)))), (4, 5)),
    },
)
rows(
    "reduce",
    {
        "rows": (lambda f, x: f.sum(x, [1]), (3, 129)),
        "everything": (lambda f, x: f.mean(x, [0, 1]), (7, 13)),
        "kept_axes": (lambda f, x: f.subtract(x, f.mean(x, [0, 2], keepdims=True)), (2, 3, 5)),
        "greatest": (lambda f, x: f.max(x, [0]), (129, 3)),
        "place_of_greatest": (lambda f, x: f.argmax(x, 1), (5, 31)),
        "one_entry": (lambda f, x: f.sum(x, [0]), (1, 5)),
    },
)
rows(
    "matmul",
    {
        "primes": (lambda f, x, y: f.matmul(x, y), (7, 31), (31, 13)),
        "batches": (lambda f, x, y: f.matmul(x, y), (2, 3, 5, 7), (2, 3, 7, 2)),
        "one_row": (lambda f, x: f.matmul(x, f.constant(held(7, 129))), (1, 7)),
        "transposed": (lambda f, x, y: f.matmul(x, f.transpose(y, [1, 0])), (5, 16), (3, 16)),
        "perceptron": (
            lambda f, x: f.matmul(
                f.relu(f.add(f.matmul(x, f.constant(held(8, 17))), f.constant(held(17)))),
                f.constant(held(17, 3)),
            ),
            (5, 8),
        ),
    },
)
rows(
    "conv",
    {
        "padded": (lambda f, x: f.conv(x, f.constant(held(5, 6, 3, 3)), 1, 1), PICTURES),
        "strided": (lambda f, x: f.conv(x, f.constant(held(4, 6, 3, 3)), 2, 1), PICTURES),
        "pointwise": (lambda f, x: f.relu(f.conv(x, f.constant(held(3, 6, 1, 1)), 1, 0)), PICTURES),
        "groups": (lambda f, x: f.conv(x, f.constant(held(4, 3, 3, 3)), 1, 0, 2), PICTURES),
        "depthwise": (lambda f, x: f.conv(x, f.constant(held(6, 1, 3, 3)), 1, 1, 6), PICTURES),
    },
)
rows(
    "pool",
    {
        "max": (lambda f, x: f.max_pool(x, 2, 2), PICTURES),
        "max_padded": (lambda f, x: f.max_pool(x, 3, 2, 1), PICTURES),
        "mean": (lambda f, x: f.avg_pool(x, 3, 1), PICTURES),
        "global": (lambda f, x: f.mean(x, [2, 3]), PICTURES),
    },
)
rows(
    "norm",
    {
        "softmax": (lambda f, x: f.softmax(x, 1), (3, 129)),
        "softmax_of_columns": (lambda f, x: f.softmax(x, 0), (7, 5)),
        "softmax_of_large": (
            lambda f, x: f.softmax(f.multiply(x, f.constant(held(1) * 100)), 1),
            (3, 7),
        ),
        "layer": (
            lambda f, x: f.layer_norm(x, f.constant(held(31)), f.constant(held(31) + 1)),
            (5, 31),
        ),
        "residual": (
            lambda f, x, y: f.layer_norm(f.add(x, y), f.constant(held(16)), f.constant(held(16))),
            (2, 3, 16),
            (2, 3, 16),
        ),
    },
)
rows(
    "attention",
    {
        "heads": (lambda f, q, k, v: f.attention(q, k, v), HEADS, HEADS, HEADS),
        "other_rows": (
            lambda f, q, k, v: f.attention(q, k, v),
            (2, 1, 1, 8),
            (2, 1, 13, 8),
            (2, 1, 13, 8),
        ),
        "of_projections": (
            lambda f, x: f.attention(
                *[
                    f.transpose(
                        f.reshape(
                            f.matmul(x, f.constant(held(12, 12) * (1 + n) / 4)), [2, 5, 3, 4]
                        ),
                        [0, 2, 1, 3],
                    )
                    for n in range(3)
                ]
            ),
            (2, 5, 12),
        ),
    },
)
rows(
    "shape",
    {
        "reshape": (lambda f, x: f.exp(f.reshape(x, [6, 5])), (2, 3, 5)),
        "transpose": (
            lambda f, x: f.add(f.transpose(x, [2, 0, 1]), f.constant(held(3))),
            (2, 3, 5),
        ),
        "concat": (lambda f, x, y: f.concat([x, f.relu(y), x], 1), (3, 2), (3, 5)),
        "slice": (lambda f, x: f.multiply(f.slice(x, 1, 1, -1), f.slice(x, 1, 2, 9)), (3, 9)),
        "steps": (lambda f, x: f.tanh(f.slice(x, 0, 0, 7, 3)), (7, 2)),
        "expand": (lambda f, x: f.exp(f.expand(x, [4, 3, 5])), (3, 1)),
        "results": (lambda f, x: (f.exp(x), f.sum(x, [0]), f.exp(x)), (3, 5)),
    },
)
rows(
    "index",
    {
        "embedding": (lambda f, i: f.gather(f.constant(held(11, 7)), i, 0), (2, 3)),
        "columns": (lambda f, i: f.exp(f.gather(f.constant(held(3, 11)), i, 1)), (5,)),
        "twice": (lambda f, i: f.gather(f.gather(f.constant(held(11, 7)), i, 0), i, 0), (11,)),
    },
    below={0: 11},
)
rows(
    "index",
    {
        "of_greatest": (
            lambda f, x: f.gather(f.constant(held(31, 3)), f.argmax(x, 1), 0),
            (5, 31),
        )
    },
)
N = {0: {0: "n"}}
rows(
    "dynamic_sizes",
    {
        "softmax": (lambda f, x: f.softmax(x, 1), (5, 7)),
        "perceptron": (lambda f, x: f.relu(f.matmul(x, f.constant(held(7, 3)))), (5, 7)),
        "mean": (lambda f, x: f.mean(x, [0]), (5, 7)),
        "joined": (lambda f, x: f.concat([x, f.exp(x)], 0), (5, 7)),
        "flat": (lambda f, x: f.tanh(f.reshape(x, [f.size(x, 0) * 7])), (5, 7)),
        "grown": (lambda f, x: f.exp(f.expand(f.slice(x, 1, 0, 1), [f.size(x, 0), 4])), (5, 7)),
        "without_last": (lambda f, x: f.exp(f.slice(x, 0, 0, -1)), (5, 7)),
    },
    varying=N,
    others=(((11, 7),), ((3, 7),)),
)


def is_negative(f: Any, x: Any) -> Any:
    """Whether the sum of a matrix is below zero."""
    return f.less(f.sum(x, [0, 1]), f.constant(ZERO))


# Made once: some frameworks read the Python of a body, and see no further than its globals.
ZERO, ROW, SQUARE = np.zeros((), np.float32), held(7), held(7, 7) / 7
rows(
    "control_flow",
    {
        "branches": (lambda f, x: f.if_(is_negative(f, x), f.exp, f.tanh, x), (5, 7)),
        "sizes_of_calls": (
            lambda f, x: f.repeat(f.size(x, 0), lambda y, z: f.tanh(f.add(y, z)), x, x),
            (5, 7),
        ),
        "weights_in_turns": (
            lambda f, x: f.repeat(3, lambda y: f.relu(f.matmul(y, f.constant(SQUARE))), x),
            (5, 7),
        ),
        "branches_in_turns": (
            lambda f, x: f.repeat(
                4,
                lambda y: f.if_(
                    is_negative(f, y),
                    lambda z: f.add(z, f.constant(ROW)),
                    lambda z: f.subtract(z, f.sigmoid(z)),
                    y,
                ),
                x,
            ),
            (5, 7),
        ),
    },
    varying=N,
    others=(((11, 7),), ((3, 7),), ((1, 7),)),
)
rows(
    "control_flow",
    {
        "turns_by_data": (
            lambda f, x: f.repeat(f.argmax(x, 0), lambda y: f.multiply(f.tanh(y), y), x),
            (7,),
        ),
    },
    others=(((7,),), ((7,),), ((7,),)),
)


def above(f: Any, x: Any) -> Any:
    """The rows of a matrix whose sums are above zero."""
    return f.compress(x, f.less(f.constant(ZERO), f.sum(x, [1])))


def best(f: Any, x: Any) -> Any:
    """The place of the greatest of as many numbers as a matrix has rows."""
    return f.argmax(f.sum(x, [1]), 0)


rows(
    "data_dependent_sizes",
    {
        "places": (lambda f, x: f.nonzero(f.relu(x)), (5, 7)),
        "rows": (lambda f, x: f.tanh(f.matmul(above(f, x), f.constant(held(7, 3)))), (5, 7)),
        "in_the_middle": (
            lambda f, x: (
                f.softmax(above(f, f.tanh(x)), 1),
                f.sum(f.exp(above(f, f.tanh(x))), [0]),
                f.max(x, [0]),
            ),
            (5, 7),
        ),
        "sizes_of_sizes": (lambda f, x: f.nonzero(f.relu(above(f, f.tanh(x)))), (5, 7)),
        "nothing": (
            lambda f, x: f.exp(f.compress(x, f.less(f.exp(f.sum(x, [1])), f.constant(ZERO)))),
            (5, 7),
        ),
        "expanded": (
            lambda f, x: f.multiply(f.expand(f.sum(x, [0], True), [f.size_from(best(f, x)), 7]),
                                    f.constant(ROW)),
            (5, 7),
        ),
        "sized": (lambda f, x: f.expand(f.sum(x, [0]), [f.size(above(f, x), 0), 7]), (5, 7)),
        "in_branches": (
            lambda f, x: f.if_(
                is_negative(f, x), lambda y: f.sum(f.exp(above(f, y)), [0]),
                lambda y: f.max(y, [0]), x,
            ),
            (5, 7),
        ),
        "in_turns": (
            lambda f, x: f.repeat(
                3, lambda y: f.subtract(y, f.sum(f.sigmoid(above(f, y)), [0])), x
            ),
            (5, 7),
        ),
        "of_branches": (
            lambda f, x: f.exp(
                f.if_(is_negative(f, x), lambda y: f.concat([y, y], 0), lambda y: f.tanh(y), x)
            ),
            (5, 7),
        ),
    },
    varying=N,
    others=(((11, 7),), ((3, 7),), ((1, 7),)),
)  # fmt: skip
