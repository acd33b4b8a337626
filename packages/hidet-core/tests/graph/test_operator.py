import pickle
from collections.abc import Iterator
from typing import Self

import pytest

from hidet.errors import BadArgument
from hidet.graph import OPERATORS, Op, operator
from hidet.graph.foreign import Foreign
from hidet.graph.operator import operand_names
from hidet.ir.expr import Var
from hidet.ops.reductions.norm import LayerNorm
from hidet.ops.tensors.create import Full
from hidet.ops.tensors.joining import Concat
from hidet.ops.tensors.shape import Reshape
from hidet.types import TensorType, f16, f32, i32


def test_operands_and_attributes_are_told_by_type():
    assert operand_names(LayerNorm) == ("x", "weight", "bias")
    assert operand_names(Concat) == ("tensors",)
    assert operand_names(Foreign) == ("given",)
    op = LayerNorm(f32[2, 3], None, f32[3], (1,), 1e-5)
    assert op.types() == (f32[2, 3], f32[3])
    assert op.attributes() == {"axes": (1,), "eps": 1e-5}
    assert op.arrange(["a", "b"]) == ("a", None, "b")
    assert [each.name for each in op.definition().inputs] == ["x", "bias"]
    two = Concat((f32[2], f32[3]), 0)
    assert two.arrange("ab") == (("a", "b"),)
    assert [each.name for each in two.definition().inputs] == ["tensors0", "tensors1"]


def test_operators_are_values():
    a, b = (Reshape(f16[4], (2, 2)) for _ in range(2))
    assert a == b
    assert len({a, b}) == 1
    assert repr(a) == "Reshape(x=f16[4], shape=(2, 2))"
    assert repr(Reshape(f16[1], ())) == "Reshape(x=f16[1], shape=())"


def test_symbolic_sizes_change_in_types_and_attributes():
    n = Var("n", i32)
    op = Reshape(f16[n, 2], (2, n))
    assert op.with_sizes(lambda size: 5) == Reshape(f16[5, 2], (2, 5))


def test_an_operator_needs_a_name_of_its_own_a_docstring_and_samples():
    with pytest.raises(BadArgument, match=r"'relu' is declared by .* and by"):

        @operator("relu")
        class Again(Op):
            """Once more."""

    with pytest.raises(BadArgument, match="no docstring"):

        @operator("test_silent")
        class Silent(Op):
            x: TensorType

    with pytest.raises(BadArgument, match="no samples"):

        @operator("test_untested")
        class Untested(Op):
            """Tested by nobody."""

            x: TensorType

    assert not {"test_silent", "test_untested"} & set(OPERATORS)


def test_test_values_are_the_same_each_time():
    class Any_(Reshape):
        @classmethod
        def samples(cls) -> Iterator[Self]:
            yield from ()

    op = Any_(f32[3, 4], (12,))
    first, again, other = op.examples(1)[0], op.examples(1)[0], op.examples(2)[0]
    assert (first == again).all()
    assert (first != other).any()


def test_operators_are_the_same_bit_by_bit():
    zero, minus, none = (Full((), value, f32) for value in (0.0, -0.0, float("nan")))
    assert zero == Full((), 0.0, f32)
    assert hash(zero) == hash(Full((), 0.0, f32))
    assert none == Full((), float("nan"), f32)
    assert len({zero, minus, none, Full((), 0, f32), Full((1,), 0.0, f32), "zero"}) == 6
    assert pickle.loads(pickle.dumps(minus)) == minus != zero
