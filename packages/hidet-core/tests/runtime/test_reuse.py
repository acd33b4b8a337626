"""Which workspaces take an operand's place: only those that are never needed together with it."""

from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.runtime.binding.order import ancestors
from hidet.runtime.binding.reuse import reused
from hidet.runtime.plans.plan import Launch, Pointer


def launch(reads, writes, pairs=()):
    args = tuple(Pointer(each) for each in (*reads, *writes))
    return Launch("b", "f", args, tuple(reads), tuple(writes), in_place=tuple(pairs))


def everywhere(steps, buffers):
    return {b: [i for i, s in enumerate(steps) if b in (*s.reads, *s.writes)] for b in buffers}


def placed(steps, waits, sizes):
    return reused(steps, sizes, everywhere(steps, sizes), waits)


IN_A_ROW = [set(), {0}, {1}]


def test_a_chain_stays_in_one_place():
    steps = [launch([], [0]), launch([0], [1], [(1, 0)]), launch([1], [2], [(2, 1)])]
    assert placed(steps, IN_A_ROW, {0: 8, 1: 8, 2: 8}) == {0: 0, 1: 0, 2: 0}


def test_what_is_read_again_keeps_its_place():
    steps = [launch([], [0]), launch([0], [1], [(1, 0)]), launch([0, 1], [2], [(2, 1)])]
    assert placed(steps, IN_A_ROW, {0: 8, 1: 8, 2: 8}) == {0: 0, 1: 1, 2: 1}


def test_what_is_read_beside_it_keeps_its_place():
    steps = [launch([], [0]), launch([0], [1], [(1, 0)]), launch([0], [2])]
    assert placed(steps, [set(), {0}, {0}], {0: 8, 1: 8, 2: 8})[1] == 1


def test_other_sizes_do_not_meet():
    steps = [launch([], [0]), launch([0], [1], [(1, 0)])]
    assert placed(steps, IN_A_ROW[:2], {0: 16, 1: 8}) == {0: 0, 1: 1}


def test_an_operand_given_twice_keeps_its_place():
    steps = [launch([], [0]), launch([0, 0], [1], [(1, 0)])]
    assert placed(steps, IN_A_ROW[:2], {0: 8, 1: 8}) == {0: 0, 1: 1}


def test_what_is_no_workspace_is_left_alone():
    steps = [launch([5], [0], [(0, 5)]), launch([0], [6], [(6, 0)])]
    assert placed(steps, IN_A_ROW[:2], {0: 8}) == {0: 0}


@st.composite
def plans(draw):
    """Steps that write one buffer each, read some before, and may lie over any that they read."""
    count = draw(st.integers(1, 7))
    steps, waits = [], []
    for number in range(count):
        reads = sorted(draw(st.sets(st.integers(0, number - 1)))) if number else []
        also = draw(st.sets(st.integers(0, number - 1))) if number else set()
        steps.append(launch(reads, [number], [(number, each) for each in reads]))
        waits.append({*reads, *also})
    return steps, waits


@settings(max_examples=300, deadline=None, derandomize=True)
@given(plans())
def test_buffers_in_one_place_meet_in_one_step_only(plan):
    steps, waits = plan
    sizes = dict.fromkeys(range(len(steps)), 8)
    users, before = everywhere(steps, sizes), ancestors(waits)
    places = placed(steps, waits, sizes)
    for a, b in combinations(sizes, 2):
        if places[a] == places[b]:
            pairs = [(i, j) for i in users[a] for j in users[b]]
            assert all(i == j or before[j] >> i & 1 for i, j in pairs)
            assert sum(i == j for i, j in pairs) <= 1
