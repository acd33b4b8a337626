"""Copies into arrays that are read as vectors."""

import numpy as np
import pytest

from hidet import sim
from hidet.ir.expr import Cast, Load, Var, constant, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Declare, For, LoopKind, Store
from hidet.ir.walk import find
from hidet.passes.addresses.copy_vectors import copy_vectors
from hidet.types import Scope, TensorType, bf16, f16, f32, f64, i32

X, Y = Var("x", f32[64]), Var("y", f32[16])
PART = Var("part", TensorType(f32, (16,), Scope.REGISTER))
J, AT = Var("j", i32), Var("at", i32)


def kernel(source, *ahead, lanes=8, extent=16, of=f32):
    x = X if of is f32 else Var("x", of[64])
    element = Load(x, (source,))
    copy = Store(PART, (J,), element if of is f32 else Cast(element, f32))
    read = [Store(Y, (wrap(n),), Load(PART, (wrap(n),), lanes)) for n in range(0, 16, lanes)]
    body = (Declare(PART), For(J, wrap(extent), (*ahead, copy), LoopKind.VECTOR), *read)
    return Kernel("k", (x, Y), body, kind=KernelKind.CPU)


def result(made):
    found = np.full(16, -1, np.float32)
    sim.launch(made, np.arange(64, dtype=np.float32), found)
    return found


@pytest.mark.parametrize("made", [kernel(J + 5), kernel(AT, Declare(AT, J + 5))])
def test_neighbours_are_copied_as_vectors(made):
    after = copy_vectors(made)
    assert not list(find(after.body, For))
    assert [each.lanes for each in find(after.body, Load) if each.tensor is X] == [8, 8]
    np.testing.assert_array_equal(result(after), np.arange(5, 21))


@pytest.mark.parametrize("narrow", [f16, bf16])
def test_elements_of_16_bits_become_float32_on_the_way(narrow):
    made = kernel(J + 5, of=narrow)
    after = copy_vectors(made)
    assert not list(find(after.body, For))
    assert [each.type.lanes for each in find(after.body, Cast)] == [8, 8]
    found = np.full(16, -1, np.float32)
    sim.launch(after, np.arange(64).astype(narrow.numpy), found)
    np.testing.assert_array_equal(found, np.arange(5, 21))


@pytest.mark.parametrize(
    "made",
    [
        kernel(J * 2),  # not side by side
        kernel(J, of=f64),  # no vectors of that conversion
        kernel(constant(3, i32)),  # one element
        kernel(J, lanes=1),  # read one by one
        kernel(J, extent=12),  # no whole vectors
    ],
)
def test_others_stay_loops(made):
    assert copy_vectors(made).body == made.body
