"""Whole calls of made-up networks: who stays, what is put together, and what an end leaves."""

from types import SimpleNamespace

import pytest

from hidet.build.measured import finals
from hidet.build.measured.finals import Finals
from hidet.errors import CompilerError
from hidet.tuning import duel

TIMES = {
    "a": {None: 4.0, "fast": 2.0, "slow": 5.0},
    "b": {None: 3.0, "fast": 3.5, "other": 2.5},
    "c": {None: 2.0},
}
"""Seconds of each group in the network, by its choice."""


class Machine:
    """Runs networks; groups of a call take what `TIMES` says, and a call what `more` adds."""

    def __init__(self, times=TIMES, more=lambda lineup: 0.0, fails=()):
        self.times, self.more, self.fails = times, more, fails
        self.groups = {name: [SimpleNamespace(choice=None, name=name)] for name in times}
        self.loaded, self.running, self.most = [], 0, 0

    def load(self):
        lineup = {name: groups[0].choice for name, groups in self.groups.items()}
        self.loaded.append(lineup)
        if lineup in self.fails:
            raise CompilerError("registers are spilled")
        self.running += 1
        self.most = max(self.most, self.running)
        return Runs(self, lineup)

    def kernels(self, group):
        return [f"{group.name}_{group.choice}"]

    def finals(self, rivals, until=None, before=None):
        return Finals(self.groups, rivals, self.load, self.kernels, until, before)


class Runs:
    def __init__(self, machine, lineup):
        self.machine, self.lineup = machine, lineup

    def kernels(self):
        return {f"{s}_{c}": self.machine.times[s][c] for s, c in self.lineup.items()}

    def seconds(self):
        return sum(self.kernels().values()) + self.machine.more(self.lineup)

    def close(self):
        self.machine.running -= 1


@pytest.fixture(autouse=True)
def given_clock(monkeypatch, clock):
    monkeypatch.setattr(finals, "time", clock)
    monkeypatch.setattr(duel, "time", clock)


RIVALS = {"a": [None, "slow", "fast"], "b": [None, "fast", "other"], "c": [None]}


def test_each_group_has_what_was_fastest_among_its_neighbours():
    machine = Machine()
    played = machine.finals(RIVALS)
    played.run()
    assert played.best == {"a": "fast", "b": "other", "c": None}
    assert played.complete
    assert machine.running == 0
    assert machine.most == 2  # their weights are in memory twice, not more often


def test_the_best_of_different_ranks_are_put_together():
    machine = Machine()
    played = machine.finals(
        {"a": [None, "fast", "slow"], "b": [None, "fast", "other"], "c": [None]}
    )
    played.run()
    assert played.best == {"a": "fast", "b": "other", "c": None}
    assert played.best not in machine.loaded[:3]


def test_a_gain_at_once_does_not_end_the_search():
    machine = Machine({"a": {None: 4.0, "fast": 3.0, "faster": 2.0}, "b": {None: 3.0, "fast": 1.0}})
    played = machine.finals({"a": [None, "fast", "faster"], "b": [None, "fast"]})
    played.run()
    assert played.ratios[0][0] == {"a": "fast", "b": "fast"}
    assert played.best == {"a": "faster", "b": "fast"}


def test_what_was_the_best_before_competes():
    machine = Machine()
    known = {"a": "fast", "b": "other", "c": None}
    for before, best in ((known, known), ({"a": "slow", "b": "fast", "c": None}, None)):
        played = machine.finals({"a": [None, "slow"], "b": [None], "c": [None]}, before=before)
        played.run()
        assert before in [lineup for lineup, _ in played.ratios]
        assert played.best == (best or played.plain)


def test_where_nothing_is_faster_the_cost_model_decides():
    machine = Machine()
    played = machine.finals({"a": [None, "slow"], "b": [None, "fast"], "c": [None]})
    played.run()
    assert played.best == {"a": None, "b": None, "c": None}
    assert played.complete
    assert len(machine.loaded) == 2


def test_a_gain_of_kernels_that_is_none_of_calls_is_not_kept():
    """Each kernel takes less time, and the call more: the launches no longer overlap."""
    machine = Machine(more=lambda lineup: 9.0 if lineup["a"] or lineup["b"] else 0.0)
    played = machine.finals(RIVALS)
    played.run()
    assert played.best == {"a": None, "b": None, "c": None}


def test_half_of_what_is_no_gain_together_may_be_one():
    machine = Machine(more=lambda lineup: 9.0 if lineup["b"] else 0.0)
    played = machine.finals(RIVALS)
    played.run()
    assert played.best == {"a": "fast", "b": None, "c": None}
    assert {"a": "fast", "b": "other", "c": None} in machine.loaded


def test_a_part_that_is_a_gain_is_found_wherever_it_is():
    """What saves most alone takes more in a call, and hides what two others save."""
    times = {
        "a": {None: 9.0, "fast": 5.0},
        "b": {None: 4.0, "fast": 3.0},
        "c": {None: 4.0, "fast": 3.5},
    }
    machine = Machine(times, more=lambda lineup: 9.0 if lineup["a"] else 0.0)
    rivals = {name: [None, "fast", None] for name in times}
    played = machine.finals(rivals)
    played.run()
    assert played.best == {"a": None, "b": "fast", "c": "fast"}


def test_parts_that_whole_calls_hardly_show_are_not_looked_for():
    times = {name: {None: 1.0, "fast": 0.98} for name in "abcd"}
    times["e"] = {None: 96.0}
    machine = Machine(times, more=lambda lineup: 1.0 if lineup["a"] else 0.0)
    played = machine.finals({name: [None, *found][:3] for name, found in times.items()})
    played.run()
    assert played.best == played.plain
    assert len(played.ratios) <= 3


def test_time_is_left_for_what_the_ranks_have_shown(clock):
    times = {None: 4.0, "slow": 5.0, "fast": 3.0, "fastest": 1.0}
    machine = Machine({"a": times, "b": {None: 2.0}})
    plain = machine.load

    def load():
        clock.sleep(1.0)
        return plain()

    machine.load = load
    rivals = {"a": [None, "fast", "slow", "fastest", "slow", "slow"], "b": [None]}
    played = machine.finals(rivals, until=7.5)
    played.run()
    assert played.best == {"a": "fastest", "b": None}
    assert not played.complete
    assert len(machine.loaded) == 4  # its own, and three of five ranks


def test_one_that_cannot_be_built_is_left():
    machine = Machine(fails=[{"a": "slow", "b": "fast", "c": None}])
    played = machine.finals(RIVALS)
    played.run()
    assert played.best == {"a": "fast", "b": "other", "c": None}
    assert machine.running == 0


def test_at_the_deadline_the_best_so_far_stays(clock):
    machine = Machine()
    plain = machine.load

    def load():
        clock.sleep(1.0)
        return plain()

    machine.load = load
    played = machine.finals({"a": [None, "fast", "slow"], "b": [None], "c": [None]}, until=1.5)
    played.run()
    assert len(machine.loaded) == 2
    assert played.best == {"a": "fast", "b": None, "c": None}
    assert not played.complete


def test_an_error_leaves_the_best_so_far_and_no_network():
    machine = Machine()
    plain = machine.load

    def load():
        if len(machine.loaded) == 2:
            raise KeyboardInterrupt
        return plain()

    machine.load = load
    played = machine.finals({"a": [None, "fast", "slow"], "b": [None], "c": [None]})
    with pytest.raises(KeyboardInterrupt):
        played.run()
    assert played.best == {"a": "fast", "b": None, "c": None}
    assert machine.running == 0
