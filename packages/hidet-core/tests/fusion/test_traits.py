"""What definitions tell fusion."""

import pytest

from hidet import ops, seams
from hidet.fusion.traits import cheap, decides, lands, looks_up, moves_only
from hidet.graph import OPERATORS, Foreign, symbol

seams.call("load_operators")


def op_of(tensor):
    return tensor.trace[0].op


X = symbol((4, 6))


@pytest.mark.parametrize(
    "made",
    [
        ops.permute(X, (1, 0)),
        ops.reshape(X, (3, 8)),
        ops.slice(X, 1, 2, 5),
        ops.expand(ops.reshape(X, (4, 1, 6)), (4, 5, 6)),
    ],
)
def test_what_moves_elements_only(made):
    assert moves_only(op_of(made))
    assert cheap(op_of(made))


def test_what_computes_or_chooses_does_not_move_only():
    for made in (ops.relu(X), ops.concat([X, X]), ops.cast(X, "float16")):
        assert not moves_only(op_of(made))
    assert not moves_only(op_of(ops.take(X, [symbol((3,), "int32")])))


def test_what_many_elements_decide_is_looked_up():
    at = symbol((3,), "int32")
    assert looks_up(op_of(ops.take(X, [at])))
    assert looks_up(op_of(ops.gather(X, 1, symbol((4, 5), "int64"))))
    for made in (ops.take(X, [symbol((1,), "int32")]), ops.permute(X, (1, 0)), X + X):
        assert not looks_up(op_of(made))


def test_what_stays_in_the_framework_does_not_move_only():
    assert not any(moves_only(op) for op in Foreign.samples())


def test_cost_and_landing():
    assert not cheap(op_of(ops.exp(X)))
    assert cheap(op_of(X + X))
    assert lands(op_of(ops.permute(X, (1, 0))), 0)
    assert not lands(op_of(ops.flip(X, 0)), 0)


def test_who_decides():
    """A new operator that compares is added here, or says that it is continuous."""
    found = {
        name
        for name, kind in OPERATORS.items()
        if kind.kind == "kernels" and kind.__module__.startswith("hidet.")
        and any(decides(op) for op in kind.samples() if any(t.dtype.is_float for t in op.types()))
    }  # fmt: skip
    assert found == {
        "adaptive_max_indices", "all", "any", "argmax", "argmin", "cast", "ceil", "deform_columns",
        "digamma", "equal",
        "erfinv", "floor", "floor_divide", "fmod", "greater", "greater_equal", "grid_sample",
        "isfinite", "isinf",
        "isnan", "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor",
        "max_pool_indices", "norm", "not_equal", "polygamma", "quantize", "remainder",
        "resample", "roi_align",
        "round", "searchsorted", "shrink", "sign", "signbit", "softplus", "sort", "threshold",
        "trunc",
        "trunc_divide",
    }  # fmt: skip


def test_casts_decide_only_for_whole_numbers():
    x = symbol((4, 6), "float16")
    assert not decides(op_of(ops.cast(x, "float32")))
    assert decides(op_of(ops.cast(x, "int32")))
    assert decides(op_of(ops.cast(x, "bool")))
    assert not any(decides(op_of(each)) for each in (ops.relu(x), ops.absolute(x), x * x))
