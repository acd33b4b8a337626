"""Complex arithmetic on pairs, beside numpy's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hidet.frontend.importing import complex_numbers as numbers
from hidet.frontend.importing.complex_numbers import Complex
from hidet.graph import FlowGraph, Tensor, evaluate, symbol, tracing

Array = np.ndarray[Any, Any]
FUNCTIONS: dict[str, tuple[Callable[..., Complex | Tensor], Callable[..., Array]]] = {
    "add": (numbers.add, np.add),
    "subtract": (numbers.subtract, np.subtract),
    "multiply": (numbers.multiply, np.multiply),
    "divide": (numbers.divide, np.divide),
    "conjugate": (lambda a, b: numbers.conjugate(a), lambda a, b: np.conj(a)),
    "absolute": (lambda a, b: numbers.absolute(a), lambda a, b: np.abs(a)),
    "angle": (lambda a, b: numbers.angle(b), lambda a, b: np.angle(b)),
    "exp": (lambda a, b: numbers.exp(a), lambda a, b: np.exp(a)),
    "polar": (
        lambda a, b: numbers.polar(a.real, b.real),
        lambda a, b: a.real * np.exp(1j * b.real),
    ),
    "complex": (lambda a, b: numbers.as_complex(a.real), lambda a, b: a.real + 0j),
    "map": (lambda a, b: a.map(lambda part: part * 3), lambda a, b: a * 3),
}  # fmt: skip


def pairs(values: Array) -> Array:
    return np.stack([values.real, values.imag], -1) if np.iscomplexobj(values) else values


@pytest.mark.parametrize("size", [1e-200, 1, 1e200])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_numpy(name: str, size: float) -> None:
    ours, meant = FUNCTIONS[name]
    if size != 1 and name not in ("add", "subtract", "divide", "absolute", "angle"):
        return
    rng = np.random.default_rng(0)
    a, b = (size * (rng.standard_normal(s) + 1j * rng.standard_normal(s)) for s in ((5, 1), (7,)))
    with tracing():
        x, y = symbol((5, 1, 2), "float64"), symbol((7, 2), "float64")
        made = ours(Complex.of(x), Complex.of(y))
        graph = FlowGraph([x, y], [made.parts if isinstance(made, Complex) else made])
    (found,) = evaluate(graph, pairs(a), pairs(b))
    np.testing.assert_allclose(found, pairs(np.asarray(meant(a, b))), rtol=1e-12)


def test_pairs_are_not_put_together_again() -> None:
    with tracing():
        x = symbol((5, 2), "float32")
        assert Complex.of(x).parts is x
