"""Which operands the L2 cache gives up last."""

import pytest

from hidet import ops
from hidet.types import f16, f32

LARGE, WIDE = f32[16384, 4096], f32[4096,]


def layer_norm(x, w, b):
    return ops.layer_norm(x, w, b)


@pytest.mark.parametrize(
    ("function", "types", "names"),
    [
        (layer_norm, (LARGE, WIDE, WIDE), ["x0"]),
        (layer_norm, (f32[2048, 4096], WIDE, WIDE), ["x0"]),
        (layer_norm, (f32[1024, 4096], WIDE, WIDE), []),
        (lambda x: ops.softmax(x, -1), (f16[65536, 1024],), ["x0"]),
        (lambda x, b: ops.gelu(x + b), (LARGE, WIDE), ["x0"]),
        (lambda x, y: ops.relu(x + y), (LARGE, LARGE), []),
        (lambda x: ops.cast(x, f16), (LARGE,), []),
        (lambda x: ops.cast(x, f32), (f16[16384, 4096],), ["x0"]),
        (lambda x: ops.transpose(x, 0, 1), (LARGE,), ["x0"]),
        (lambda x: ops.sum(x, (1,)), (LARGE,), []),
        (lambda x: ops.sum(x, (0,)), (f32[2048, 16384],), []),
    ],
    ids=[
        "large",
        "more than fits",
        "fits",
        "narrow",
        "bias",
        "two",
        "to half",
        "to twice",
        "tiles",
        "sums",
        "columns",
    ],
)
def test_operands_last_where_results_are_as_large_and_all_is_more_than_the_cache_holds(
    made, function, types, names
):
    for kernel in made(function, *types).module.kernels:
        assert [var.name for var in kernel.lasting] == names


def test_what_lasts_is_loaded_so(made):
    text, _ = made(layer_norm, LARGE, WIDE, WIDE).build()
    assert "load_lasting<float, 4>(&x0[" in text
    assert "load_lasting<float, 4>(&x1[" not in text
