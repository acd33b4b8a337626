"""Einsum against numpy's, by definitions and through the compiler."""

import numpy as np
import pytest

from hidet import ops
from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import FlowGraph, assuming, from_numpy, guarded, symbol, trace_from, tracing
from hidet.testing.defined import run


def values(*shapes, dtype=np.float64):
    random = np.random.default_rng(0)
    return [random.normal(size=shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij->ji", [(3, 4)]),
        ("ij->", [(3, 4)]),
        ("ii", [(5, 5)]),
        ("...ii->...i", [(3, 5, 5)]),
        ("iij->j", [(3, 3, 2)]),
        ("i,i", [(5,), (5,)]),
        ("i,j->ij", [(2,), (7,)]),
        ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)]),
        ("bhqd,bkhd->bhqk", [(2, 3, 5, 4), (2, 7, 3, 4)]),
        ("...ij,jk", [(2, 1, 3, 4), (4, 5)]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (7, 4, 5)]),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)]),
        ("ij,ij,j->i", [(2, 3), (2, 3), (3,)]),
        ("bn,anm,bm->ba", [(2, 3), (5, 3, 4), (2, 4)]),
        ("ij,ij->ij", [(1, 3), (2, 3)]),
        (" a b , b -> a ", [(3, 1), (1,)]),
        ("->", [()]),
        (",i->i", [(), (3,)]),
        ("Ab,bA->A", [(3, 2), (2, 3)]),
    ],
)
def test_as_numpy_has_it(equation, shapes):
    operands = values(*shapes)
    found = run(lambda *x: ops.einsum(equation, *x), *operands)
    np.testing.assert_allclose(found, np.einsum(equation.strip(), *operands), rtol=1e-12)


def test_whole_numbers():
    x, y = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(run(lambda a, b: ops.einsum("ij,jk->ik", a, b), x, y), x @ y)


def test_a_size_that_only_a_call_tells():
    x, w = symbol(["n", 3, 4]), symbol([4, 5])
    graph = trace_from(ops.einsum("nij,jk->nik", x, w), [x, w])
    a, b = values((7, 3, 4), (4, 5), dtype=np.float32)
    found = graph(from_numpy(a), from_numpy(b)).numpy()
    np.testing.assert_allclose(found, np.einsum("nij,jk->nik", a, b), rtol=1e-5, atol=1e-6)


def test_sizes_that_a_letter_makes_equal():
    x, w = symbol(["n", 3, 4]), symbol(["m", 4, 5])
    with tracing(), assuming() as guards:
        found = [ops.einsum("nij,njk->nik", x, w)]
        graph = guarded(FlowGraph([x, w], found), guards)
    a, b = values((7, 3, 4), (7, 4, 5), dtype=np.float32)
    found = graph(from_numpy(a), from_numpy(b)).numpy()
    np.testing.assert_allclose(found, np.einsum("nij,njk->nik", a, b), rtol=1e-5, atol=1e-6)
    with pytest.raises(ShapeMismatch, match=r"'n' of 'nij,njk->nik' is n and m"):
        ops.einsum("nij,njk->nik", symbol(["n", 3, 4]), symbol(["m", 4, 5]))


def test_what_is_no_equation():
    x = symbol([2, 3])
    with pytest.raises(BadArgument, match="of 2 operands, not of 1"):
        ops.einsum("ij,jk->ik", x)
    with pytest.raises(ShapeMismatch, match="is given 2 axes"):
        ops.einsum("ijk->i", x)
    with pytest.raises(BadArgument, match="no operand has"):
        ops.einsum("ij->ik", x)
    with pytest.raises(ShapeMismatch, match="'j' of 'ij,jk->ik' is 3 and 4"):
        ops.einsum("ij,jk->ik", x, symbol([4, 5]))
    with pytest.raises(BadArgument, match="no equation"):
        ops.einsum("i1->i", x)
