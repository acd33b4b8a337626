"""Steps of gradient descent against their formulas in float64, the first step and a later one."""

import numpy as np
import pytest

from hidet import ops
from hidet.testing.defined import run


def values(count):
    random = np.random.default_rng(0)
    x, gradient, *state = random.uniform(0.1, 2, (2 + count, 7)).astype(np.float32)
    return x, gradient, *state


@pytest.mark.parametrize("step", [0, 4])
def test_steps(step):
    rate, at = np.float32(0.1), np.int64(step)
    x, g, v, h = values(2)
    whole = 0.01 * x.astype(np.float64) + g
    squares = h + whole**2
    wanted = x - 0.1 / (1 + step * 0.2) * whole / (np.sqrt(squares) + 1e-3)
    adagrad = lambda *o: ops.adagrad(*o, decay=0.2, epsilon=1e-3, decay_of_weights=0.01)
    for found, right in zip(run(adagrad, rate, at, x, g, h), (wanted, squares), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-6)

    mean, square = 0.8 * v + 0.2 * whole, 0.95 * h + 0.05 * whole**2
    fitted = 0.1 * (np.sqrt(1 - 0.95**step) / (1 - 0.8**step) if step else 1)
    moved = 0.99 * (x - fitted * mean / (np.sqrt(square) + 1e-3))
    adam = lambda *o: ops.adam(
        *o, alpha=0.8, beta=0.95, epsilon=1e-3, decay_of_weights=0.01, decay_after=0.01
    )
    for found, right in zip(run(adam, rate, at, x, g, v, h), (moved, mean, square), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-5)


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("step", [0, 4])
def test_momentum(step, nesterov):
    rate, at = np.float32(0.1), np.int64(step)
    x, g, v = values(1)
    whole = 0.01 * x.astype(np.float64) + g
    moving = 0.9 * v + (0.7 if step else 1) * whole
    wanted = x - 0.1 * (whole + 0.9 * moving if nesterov else moving)
    how = {"alpha": 0.9, "beta": 0.7, "decay_of_weights": 0.01, "nesterov": nesterov}
    found = run(lambda *o: ops.momentum_step(*o, **how), rate, at, x, g, v)
    for each, right in zip(found, (wanted, moving), strict=True):
        np.testing.assert_allclose(each, right, rtol=1e-5)
