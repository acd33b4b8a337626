"""How many candidates each round of a search looks at, and which operators it comes to first."""

import pytest

from hidet.build.measured.rounds import BEST, WIDER, Round, rounds
from hidet.build.measured.tuned import Decision
from hidet.build.measured.tuner import Tuner
from hidet.build.measured.tuning_facts import subject_of
from hidet.fusion.group import Group
from hidet.graph import symbol, trace_from
from hidet.options import options
from hidet.schedules.base import Choice
from hidet.target import Target
from hidet.tuning import store
from hidet.tuning.record import Record, Trial

CUDA = Target.parse("sm_90a")
FOUND = {str(number): Choice("made_up", number) for number in range(40)}


@pytest.fixture(autouse=True)
def own_records(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_memory", {})
    with options(cache_dir=str(tmp_path)):
        yield


def known(count, level=0):
    return Record(level, "0", tuple(Trial(str(number), 1.0) for number in range(count)))


def test_the_first_space_has_one_round_and_the_second_ever_wider_ones():
    assert rounds(5, 1) == [Round(BEST, 1)]
    assert [each.most for each in rounds(5, 2)] == [BEST, WIDER * BEST, WIDER**2 * BEST, None]
    assert [each.last for each in rounds(5, 2)] == [False, False, False, True]
    assert rounds(1, 2) == [Round(None, 2)]  # nothing else waits for it


def test_a_round_is_over_where_all_that_it_looks_at_is_known():
    first, second, *_, last = rounds(2, 2)
    assert first.is_open(None, FOUND)
    assert first.is_open(known(BEST - 1), FOUND)
    assert not first.is_open(known(BEST), FOUND)
    assert second.is_open(known(BEST), FOUND)
    assert last.is_open(known(40), FOUND)  # it says that all is known
    assert not last.is_open(None, {"0": FOUND["0"]})


def test_only_the_last_round_completes_a_search():
    assert [each.search(known(3, 1), FOUND).level for each in rounds(2, 2)] == [1, 1, 1, 2]
    assert len(rounds(2, 2)[0].search(known(3), FOUND).candidates) == 1 + BEST - 3


def product(m, n, k):
    x, w = (symbol(shape, "float16", device="cuda:0") for shape in ((m, k), (k, n)))
    graph = trace_from(x @ w, inputs=[x, w])
    return Group(graph.nodes, graph.nodes[0])


def test_what_may_save_most_of_a_call_comes_first():
    """A large product, a small one, and many of the small one's kind."""
    large, small, many = product(2048, 2048, 2048), product(64, 64, 64), product(64, 128, 64)
    alike = {subject_of(each): [each] for each in (small, large)} | {subject_of(many): [many] * 999}
    with options(search_space=2), Tuner(CUDA, None) as tuner:
        tuner.round = rounds(3, 2)[0]
        order = Decision(alike, tuner, None).by_promise()
        assert order == [subject_of(each) for each in (many, large, small)]
        assert tuner.promise(order[0]) < tuner.promise(order[1])
        assert tuner.promise(order[2]) > 0


def test_compilers_of_a_gpu_begin_with_what_is_not_known_of_the_next():
    groups = [product(64, 64, 64), product(128, 64, 64)]
    subjects = [subject_of(each) for each in groups]
    with options(search_space=2), Tuner(CUDA, None) as tuner:
        tuner.round = rounds(2, 2)[0]
        ahead = list(tuner.upcoming(subjects))
        assert [subject for subject, _ in ahead] == [s for s in subjects for _ in range(BEST)]
        for target, level in ((CUDA, 2), (Target.parse("cpu"), 0)):
            other = Tuner(target, None)
            other.round = tuner.round
            record = Record(level, None, ())
            other.record = lambda subject, record=record: record
            assert not list(other.upcoming(subjects))
