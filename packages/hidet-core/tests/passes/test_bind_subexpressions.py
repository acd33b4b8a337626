"""Values that would be repeated many times are bound, where their uses are evaluated."""

from itertools import pairwise

import numpy as np
import pytest

from hidet import ops, sim
from hidet.build.draft import Draft
from hidet.graph import evaluate, symbol, trace_from
from hidet.ir.expr import And, Const, Get, Load, Or, Select, Var, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Assign, Declare, For, If, Put, Store, While
from hidet.ir.walk import statements
from hidet.passes.arithmetic.bind_subexpressions import MOST, bind_subexpressions
from hidet.passes.pipeline import lower
from hidet.target import Target
from hidet.testing.fused import simulated
from hidet.types import i32, i64

SIZE = 9
table, x, y = Var("table", i32[SIZE]), Var("x", i32[SIZE]), Var("y", i32[SIZE])
i, flag = Var("i", i32), Var("flag", i32)
ZERO = Const(0, i32)


def follow(k, steps=1):
    """What the table has at k, from the end if that is negative; so on for some steps."""
    for _ in range(steps):
        found = Get(table, (k,))
        k = Select(found < 0, found + SIZE, found)
    return k


def kernel(*body, params=(table, x, y), count=SIZE):
    return Kernel("k", params, (For(i, wrap(count), body),), kind=KernelKind.CPU)


def results(made, *arrays):
    """What a kernel writes, before and after lowering."""
    found = []
    for each in (made, bind_subexpressions(made), lower(made)):
        y = np.full(SIZE, -99, np.int32)
        sim.launch(each, *arrays, y)
        found.append(y)
    return found


def arrays(seed=0):
    random = np.random.default_rng(seed)
    return random.integers(-SIZE, SIZE, (2, SIZE)).astype(np.int32)


def lines(made):
    return str(bind_subexpressions(made)).splitlines()[1:]


def test_short_expressions_stay():
    made = kernel(Put(y, (i,), follow(i, 2)))
    assert bind_subexpressions(made) is made


def test_what_is_repeated_often_is_bound_ahead():
    made = bind_subexpressions(kernel(Put(y, (i,), Get(x, (follow(i, 4),)))))
    (loop,) = made.body
    *before, put = loop.body
    assert before
    assert all(isinstance(each, Declare) for each in before)
    assert isinstance(put, Put)


def test_what_all_uses_have_under_one_condition_is_bound_under_it():
    value = follow(i, 4)
    chosen = Select(flag > 3, value * value, ZERO)
    (loop,) = bind_subexpressions(kernel(Put(y, (i,), chosen), params=(table, x, y, flag))).body
    for each in loop.body[:-1]:
        match each.init:
            case Select(condition, _, otherwise):
                assert condition is (flag > 3)
                assert otherwise is ZERO
            case _:
                pytest.fail(f"{each} is not under the condition")


def test_what_uses_under_several_conditions_have_is_bound_under_none():
    value = follow(i, 4)
    chosen = Select(flag > 3, value, Select(flag > 1, value + 1, ZERO))
    (loop,) = bind_subexpressions(kernel(Put(y, (i,), chosen), params=(table, x, y, flag))).body
    before = loop.body[:-1]
    assert before
    assert not any("flag" in str(each) for each in before)


@pytest.mark.parametrize(
    "expression",
    [
        lambda k: Get(x, (follow(k, 4),)),
        lambda k: Select(k < 5, follow(k, 3) * follow(k, 4), ZERO - follow(k, 3)),
        lambda k: Select(And(k > 3, follow(k, 3) > 5), follow(k, 4), ZERO),
        lambda k: Select(Or(k > 7, follow(k, 3) > 5), follow(k, 3), follow(k, 3)),
        lambda k: Select(k > 2, Select(k < 7, Get(x, (follow(k, 4),)), ZERO), follow(k, 3)),
        lambda k: Select(Get(x, (k,)) > 0, follow(k, 3) // Get(x, (k,)), follow(k, 3)),
    ],
    ids=["chain", "both arms", "and", "or", "nested", "division"],
)
@pytest.mark.parametrize("seed", range(3))
def test_values_stay_the_same(expression, seed):
    made = kernel(Put(y, (i,), expression(i)))
    before, after, lowered = results(made, *arrays(seed))
    np.testing.assert_array_equal(after, before)
    np.testing.assert_array_equal(lowered, before)


def test_memory_that_nothing_guards_is_read_where_it_was():
    value = Load(x, (i + 100,))
    for _ in range(12):
        value = value * value + 1
    made = kernel(Put(y, (i,), Select(i < 0, value, follow(i, 4))))
    bound = bind_subexpressions(made)
    assert not any(
        isinstance(each, Declare) and "x[" in str(each.init) for each in statements(bound.body)
    )
    before, after, _ = results(made, *arrays())
    np.testing.assert_array_equal(after, before)


def test_conditions_of_branches_are_bound_ahead_and_those_of_loops_stay():
    deep = follow(i, 4)
    branch = If(deep > 3, (Put(y, (i,), i),), (Put(y, (i,), ZERO),))
    before, after, lowered = results(kernel(branch), *arrays())
    np.testing.assert_array_equal(after, before)
    np.testing.assert_array_equal(lowered, before)
    assert "part" in "".join(lines(kernel(branch)))
    k = Var("k", i32)
    walk = While(follow(k, 4) > 8, (Assign(k, k + 1),))
    made = kernel(Declare(k, i), walk, Put(y, (i,), k))
    assert bind_subexpressions(made) is made


def test_stores_and_declarations_too():
    n = Var("n", i32)
    made = kernel(Declare(n, follow(i, 4)), Store(y, (i,), n + follow(i, 4)))
    before, after, lowered = results(made, *arrays())
    np.testing.assert_array_equal(after, before)
    np.testing.assert_array_equal(lowered, before)


def nodes(e):
    """The size of an expression, written out."""
    known = {}

    def size(e):
        if e not in known:
            known[e] = 1 + sum(size(each) for each in e.children())
        return known[e]

    return size(e)


def test_what_is_left_grows_with_the_chain():
    def total(steps):
        bound = bind_subexpressions(kernel(Put(y, (i,), Get(x, (follow(i, steps),)))))
        return sum(nodes(each) for each in bound.body[0].body)

    sizes = [total(steps) for steps in (8, 16, 32, 64)]
    assert all(later < 2.2 * earlier for earlier, later in pairwise(sizes))
    assert total(64) < 64 * MOST


def chain(steps, device, size="n"):
    """Rows whose index is read from a table again and again, under a condition."""
    index, table = symbol((9,), i64, device=device), symbol((size,), i64, device=device)
    asked = symbol((9,), i64, device=device)
    found = index
    for _ in range(steps):
        found = ops.take(table, (found,))
    result = ops.logical_and(ops.greater(asked, 3), ops.greater(ops.add(found, found), 2))
    return trace_from([result], [index, table, asked])


@pytest.mark.parametrize("target", ["cpu", "sm_90a"])
def test_the_text_of_a_chain_of_lookups_grows_linearly(target):
    def written(steps):
        graph = chain(steps, "cpu" if target == "cpu" else "cuda")
        draft = Draft(graph, Target.parse(target), {})
        draft.write_down()
        return [each.text for each in draft.units.functions.values()]

    first, last = (sum(map(len, written(steps))) for steps in (1, 5))
    assert last < 10 * first
    assert max(len(line) for text in written(5) for line in text.splitlines()) < 2000


def test_a_chain_of_lookups_is_computed():
    graph = chain(5, "cuda", 11)
    random = np.random.default_rng(0)
    given = [random.integers(-11, 11, 9), random.integers(-11, 11, 11), random.integers(0, 7, 9)]
    (expected,) = evaluate(graph, *given)
    (found,) = simulated(graph, given)
    np.testing.assert_array_equal(found, expected)
