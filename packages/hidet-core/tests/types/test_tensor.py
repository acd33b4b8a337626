"""Types of tensors, vectors and pointers."""

from hidet.ir.expr import Var
from hidet.types import PointerType, Scope, TensorType, VectorType, f16, f32, i32


def test_text():
    n = Var("n", i32)
    assert str(f32[n, 4]) == "f32[n, 4]"
    assert str(TensorType(f32, (4,), Scope.SHARED)) == "f32[4] shared"
    assert str(TensorType(f32, (4,), layout="rows")) == "f32[4] @ rows"
    assert str(VectorType(f16, 8)) == "f16x8"
    assert str(PointerType(f32)) == "~f32"


def test_facts():
    assert f32[2, 3].ndim == 2
    assert VectorType(f16, 8).nbytes == 16
    assert f32[2].with_(scope=Scope.REGISTER) == TensorType(f32, (2,), Scope.REGISTER)
    assert f32[2] == f32[2]
    assert hash(f32[2]) == hash(f32[2])
    assert f32[2] != f16[2]
