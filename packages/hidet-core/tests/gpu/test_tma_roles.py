"""The persistent TMA and wgmma product of three roles: without a report, and right on a GPU.

What goes wrong in it is in the catalogue (`catalogue.roles`).
"""

import numpy as np
import pytest
from catalogue.roles import product

from hidet.passes.pipeline import lower
from hidet.sim import blocks
from hidet.testing.as_meant import as_meant

SIZES = [(300, 72, 168), (1, 8, 8), (129, 136, 328), (257, 200, 64)]


def operands(m, n, k):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((m, k), (n, k)))
    return a, b, np.full((m, n), np.nan, np.float16)


@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_three_roles(m, n, k, run):
    a, b, found = run(product(), *operands(m, n, k))
    a, b = a.astype(np.float64), b.astype(np.float64)
    exact, size = a @ b.T, np.abs(a) @ np.abs(b).T
    # One rounding to float16, and what each product of 16 cuts off.
    bound = np.abs(exact) * 2.0**-11 + size * 2.0**-21 * -(-k // 16) + 2.0**-24
    assert (np.abs(found - exact) <= bound).all()


@pytest.mark.parametrize("by_block", [False, True])
@pytest.mark.parametrize("threads", [384, 128])
def test_simt_groups_of_any_size_give_the_same(by_block, threads, simulated, monkeypatch):
    *_, expected = simulated(product(), *operands(300, 72, 168))
    parting = blocks.Parting(by_block, threads)
    monkeypatch.setattr(blocks, "partings", lambda program, run: [parting])
    *_, found = simulated(product(), *operands(300, 72, 168))
    np.testing.assert_array_equal(found, expected)


def test_the_compiler_leaves_it_as_it_is():
    """Neither setmaxnreg is ignored nor a product serialised, and nothing is spilled."""
    as_meant([lower(product().kernel)])
