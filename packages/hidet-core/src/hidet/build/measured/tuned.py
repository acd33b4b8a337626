"""How the anchors of a graph's groups are scheduled: as measured here, or as known from before.

Candidates are measured alone, then the best of them in whole calls of the graph, against what the
cost model says: that stays unless calls are faster with others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from math import prod
from statistics import median

from hidet.build.measured.finals import Finals, Lineup
from hidet.build.measured.network import Whole
from hidet.build.measured.rounds import rounds
from hidet.build.measured.tuner import Tuner
from hidet.build.measured.tuning_facts import Subject, network_facts, subject_of
from hidet.build.target import measurable
from hidet.errors.warning import warn
from hidet.fusion.group import Group
from hidet.graph.tensor import Tensor
from hidet.ops.indexing.in_place import updated_tensor
from hidet.runtime.progress import at_work
from hidet.schedules.base import Choice
from hidet.target import Target
from hidet.tuning import store
from hidet.tuning.record import Record, Trial, lineup_name, lineup_names, name_of
from hidet.tuning.report import TuningWarning

KEPT = "the cost model's schedules are kept, or what whole calls were faster with before"


def tuned(
    groups: Sequence[Group],
    target: Target,
    device: str,
    derived: Collection[Tensor] = (),
    whole: Whole | None = None,
) -> list[str]:
    """Choose how each group's anchor is scheduled; the choices by name, in the groups' order.

    `device` is where the graph's tensors are, `derived` what is computed before the first call.
    Of the `whole` graph calls are measured at the end, which decide. Ctrl-C ends the search, not
    the compilation.
    """
    alike: dict[Subject, list[Group]] = {}
    for group in groups:
        if tunable(group):
            alike.setdefault(subject_of(group, derived), []).append(group)
    with Tuner(target, measurable(target, device), weight_bytes(groups, derived)) as tuner:
        decision = Decision(alike, tuner, whole)
        lineup = decision.known()
        for subject, choice in (decision.measured() if lineup is None else lineup).items():
            for group in alike[subject]:
                group.choice = choice
    return [str(group.choice) for group in groups if group.anchor is not None]


def weight_bytes(groups: Sequence[Group], derived: Collection[Tensor] = ()) -> int:
    """The bytes of all that is the same at all calls; none of what has no fixed size."""
    read = dict.fromkeys(tensor for group in groups for tensor in group.inputs)
    constants = (each for each in read if each.storage is not None or each in derived)
    return sum(nbytes_of(each) for each in constants)


def nbytes_of(tensor: Tensor) -> int:
    """The bytes of a tensor; 0 if only calls tell how many."""
    sizes = [size for size in tensor.shape if isinstance(size, int)]
    return tensor.dtype.nbytes * prod(sizes) if len(sizes) == len(tensor.shape) else 0


class Decision:
    """How the groups of one graph are scheduled, those that are alike in the same way."""

    def __init__(
        self, alike: Mapping[Subject, Sequence[Group]], tuner: Tuner, whole: Whole | None
    ) -> None:
        self.alike, self.tuner, self.whole = alike, tuner, whole
        counts = {subject: len(groups) for subject, groups in alike.items()}
        self.facts = network_facts(counts, tuner.target)
        self.record = store.find(self.facts, tuner.name)

    def known(self) -> Lineup | None:
        """What whole calls have decided before; None if they have not, or have to again."""
        record, tuner = self.record, self.tuner
        if record is None or (tuner.able and (record.imported or record.level < tuner.level)):
            return None
        return self.read(record)

    def before(self) -> Lineup | None:
        """What was the best here in whole calls, of a search that was not complete."""
        record = self.record
        return None if record is None or record.imported else self.read(record)

    def read(self, record: Record) -> Lineup | None:
        """The lineup that a record says is the best; None if it is none of these groups."""
        names = lineup_names(record.best)
        if len(names) != len(self.alike):
            return None
        found: Lineup = {}
        for subject, name in zip(self.alike, names, strict=True):
            named = self.tuner.found(subject) if name is not None else {}
            if name is not None and name not in named:
                return None
            found[subject] = None if name is None else named[name]
        return found

    def measured(self) -> Lineup:
        """What is the best by measuring now."""
        lineup = self.alone()
        tuner = self.tuner
        if self.whole is None or tuner.device is None:
            return lineup
        rivals = {subject: tuner.rivals(subject) for subject in self.alike}
        plain: Lineup = {subject: found[0] for subject, found in rivals.items()}
        if all(len(each) == 1 for each in rivals.values()):
            return plain
        if tuner.is_late:
            return self.unmeasured("the time was up", plain)
        return self.played(self.whole, rivals, plain)

    def alone(self) -> Lineup:
        """What is the best of each group alone."""
        tuner = self.tuner
        found: Lineup = {}
        for each in rounds(len(self.alike), tuner.level):
            tuner.round = each
            order = self.by_promise()
            for number, subject in enumerate(order, 1):
                tuner.place = f"{number} of {len(order)}"
                tuner.look_ahead(order[number:])
                found[subject] = tuner.choice(subject)
        return found

    def by_promise(self) -> list[Subject]:
        """The groups, first those of which this round is expected to save most of a call: a
        deadline costs least then."""
        saved = {s: len(groups) * self.tuner.promise(s) for s, groups in self.alike.items()}
        return sorted(saved, key=lambda each: -saved[each])

    def played(
        self,
        whole: Whole,
        rivals: Mapping[Subject, Sequence[Choice | None]],
        plain: Lineup,
    ) -> Lineup:
        """What is the best in whole calls, which is remembered."""
        finals: Finals | None = None
        try:
            with (
                at_work(whole.graph.name, "measuring whole calls"),
                self.tuner.whole_calls() as (device, lock, until),
            ):
                load, before = whole.loader(device, lock), self.before()
                finals = Finals(self.alike, rivals, load, whole.kernels, until, before)
                finals.run()
        except KeyboardInterrupt:
            warn(TuningWarning("the search for schedules was interrupted; the best so far stay"))
        except Exception as error:  # tuning is not needed to compile: what stops it is told
            if finals is None or finals.best == finals.plain:
                self.unmeasured(str(error), plain)
        if finals is None:
            return self.before() or plain
        if finals.ratios:
            level = self.tuner.level if finals.complete and self.is_complete else 0
            store.keep(self.facts, self.tuner.name or "", record_of(finals, level))
        elif finals.late:
            return self.unmeasured("the time was up", plain)
        return finals.best

    def unmeasured(self, why: str, plain: Lineup) -> Lineup:
        """What stays where whole calls were not measured, which is told."""
        warn(TuningWarning(f"whole calls were not measured: {why}; {KEPT}"))
        return self.before() or plain

    @property
    def is_complete(self) -> bool:
        """Whether the search through each group came to its end."""
        return all(map(self.tuner.is_complete, self.alike))


def record_of(finals: Finals, level: int) -> Record:
    """What whole calls have shown, as a record whose candidates are lineups."""
    usual = median(ratio.first for _, ratio in finals.ratios)
    trials = [Trial(name_of_lineup(finals.plain), usual)]
    trials += [Trial(name_of_lineup(each), usual * r.value) for each, r in finals.ratios]
    return Record(level, name_of_lineup(finals.best), tuple(trials))


def name_of_lineup(lineup: Lineup) -> str:
    """A lineup's name in records."""
    return lineup_name([None if each is None else name_of(each) for each in lineup.values()])


def tunable(group: Group) -> bool:
    """Whether there is anything to choose, and running the group again gives the same again."""
    return group.anchor is not None and all(updated_tensor(t) is None for t in group.results)
