"""Sums of products."""

from hidet.ir.expr import Var
from hidet.ir.linear import Terms, add, as_int, express, of_int, without
from hidet.types import i32

i, j, n = (Var(name, i32) for name in "ijn")


def test_forms_collect_terms():
    terms = Terms()
    assert terms.form((i + 3) * 4 - i * 2 + 1) == {(i,): 2, (): 13}
    assert terms.form(i - i) == {}
    assert terms.form(-(i * n)) == {(i, n): -1}


def test_products_do_not_depend_on_the_order_of_factors():
    terms = Terms()
    assert terms.form(i * n * j) == terms.form(j * (n * i))


def test_large_products_stay_products():
    long = sum((Var(f"x{k}", i32) for k in range(8)), i)
    assert len(Terms().form(long * long)) == 1


def test_forms_become_expressions():
    terms = Terms()
    assert str(express(terms.form(j * 4 - i - 2), i32)) == "(((j * 4) - i) - 2)"
    assert str(express(terms.form(1 - i), i32)) == "(1 - i)"
    assert str(express(terms.form(-i - j * 2), i32)) == "((-i) - (j * 2))"
    assert str(express({}, i32)) == "0"


def test_numbers():
    assert as_int(of_int(0)) == 0
    assert as_int({(): 5}) == 5
    assert as_int({(i,): 1}) is None
    assert add({(i,): 2}, {(i,): 1}, -2) == {}


def test_factors_are_taken_out():
    assert without((i, n), (n,)) == (i,)
    assert without((i,), (n,)) is None
    assert without((n, n), (n,)) == (n,)
