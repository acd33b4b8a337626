"""The simulator's tables of fragments: every element once, where the mapping says."""

import numpy as np
import pytest

from hidet.intrinsics.tensor_cores.fragments import table
from hidet.intrinsics.tensor_cores.mma import PRODUCTS
from hidet.mapping.fragments import ldmatrix, mma_c, wgmma_a, wgmma_c

PRODUCED = list(dict.fromkeys(of for p in PRODUCTS.values() for of in (p.a, p.b, p.c)))
MOVED = [table(ldmatrix(n, transposed=t)) for n in (1, 2, 4) for t in (False, True)]
GROUPED = [table(wgmma_a(bits)) for bits in (8, 16, 32)] + [table(wgmma_c(n)) for n in (8, 24, 256)]


@pytest.mark.parametrize("own", [*PRODUCED, *MOVED, *GROUPED], ids=lambda own: str(own.shape))
def test_a_tile_comes_back_from_those_who_hold_it(own):
    assert sorted(own.order.tolist()) == list(range(own.order.size))
    tile = np.random.default_rng(0).standard_normal((3, *own.shape))
    np.testing.assert_array_equal(own.tile(own.held(tile)), tile)


@pytest.mark.parametrize("fragment", [mma_c(), wgmma_c(24), ldmatrix(2, transposed=True)], ids=str)
def test_workers_hold_what_the_mapping_says(fragment):
    tile = np.arange(np.prod(fragment.shape)).reshape(1, *fragment.shape)
    [held] = table(fragment).held(tile)
    for worker in range(fragment.workers):
        own = [tile[0][task] for task in fragment.tasks(worker)]
        np.testing.assert_array_equal(held[worker], own)
