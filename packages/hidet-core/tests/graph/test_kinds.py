import pytest

from hidet.compute import Kind
from hidet.graph import OPERATORS
from hidet.graph.kinds import kind_of
from hidet.ops.reductions.cumulative import CumSum
from hidet.ops.reductions.reduce import Sum
from hidet.ops.tensors.shape import Permute
from hidet.types import f32


@pytest.mark.parametrize(
    ("op", "kind"),
    [
        (OPERATORS["relu"](f32[2, 3]), Kind.ELEMENTWISE),
        (Permute(f32[2, 3], (1, 0)), Kind.INJECTIVE),
        (Sum(f32[2, 3], (1,), keepdims=False), Kind.REDUCTION),
        (CumSum(f32[2, 3], 1), Kind.OPAQUE),
    ],
    ids=str,
)
def test_kinds_are_found_out_once(op, kind, monkeypatch):
    kind_of.cache_clear()
    assert kind_of(op) is kind
    monkeypatch.setattr(type(op), "definition", None)
    assert kind_of(op) is kind
