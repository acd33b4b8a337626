from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from hidet.runtime.binding.arena import ALIGNMENT, place


@st.composite
def problems(draw):
    """Steps with random dependencies on earlier ones, and buffers with random users."""
    count = draw(st.integers(1, 8))
    waits = [set(draw(st.sets(st.integers(0, i - 1)))) if i else set() for i in range(count)]
    buffers = draw(st.integers(1, 7))
    sizes = {b: draw(st.integers(0, 3000)) for b in range(buffers)}
    users = {
        b: sorted(draw(st.sets(st.integers(0, count - 1), min_size=1))) for b in range(buffers)
    }
    return sizes, users, waits


def reaches(waits, early, late):
    """Whether `late` waits for `early`, perhaps through others: by walking every path."""
    return any(each == early or reaches(waits, early, each) for each in waits[late])


def may_share(a, b, waits):
    forward = all(reaches(waits, i, j) for i in a for j in b)
    return forward or all(reaches(waits, j, i) for i in a for j in b)


@settings(max_examples=300)
@given(problems())
def test_only_buffers_that_are_never_alive_together_share_memory(problem):
    sizes, users, waits = problem
    arena = place(sizes, users, waits)
    for a, b in combinations(sizes, 2):
        first, second = arena.offsets[a], arena.offsets[b]
        overlap = first < second + sizes[b] and second < first + sizes[a]
        assert not overlap or may_share(users[a], users[b], waits)
    for buffer, offset in arena.offsets.items():
        assert offset % ALIGNMENT == 0
        assert offset + sizes[buffer] <= arena.nbytes
    assert arena.nbytes <= sum(-(-max(n, 1) // ALIGNMENT) * ALIGNMENT for n in sizes.values())


def test_a_chain_needs_two_buffers_only():
    count = 10
    waits = [set()] + [{i} for i in range(count)]
    users = {b: [b, b + 1] for b in range(count)}
    assert place(dict.fromkeys(range(count), 1000), users, waits).nbytes == 2 * 1024


def test_parallel_branches_do_not_share_although_their_steps_have_an_order():
    waits = [set(), set(), {0}, {1}]
    users = {0: [0, 2], 1: [1, 3]}
    assert place({0: 256, 1: 256}, users, waits).nbytes == 512


def test_nothing_needs_nothing():
    assert place({}, {}, []).nbytes == 0
