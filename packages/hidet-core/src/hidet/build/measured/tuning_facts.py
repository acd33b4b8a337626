"""What decides how fast a candidate is: the group, its compiler, and the device."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from hidet.build.planning.kernels import Shape, group_of, shape_of
from hidet.build.workers.units import Units
from hidet.fusion.group import Group
from hidet.graph.tensor import Tensor
from hidet.runtime.cores import usual_threads
from hidet.runtime.devices.device import cuda_name, host_name
from hidet.schedules.base import SCHEDULES
from hidet.target import Target
from hidet.tuning.origin import origin
from hidet.tuning.record import canonical
from hidet.tuning.signature import signature


@dataclass(frozen=True)
class Subject:
    """What is tuned: a group, and which of its inputs are the same at all calls."""

    shape: Shape
    constants: tuple[int, ...] = ()

    @property
    def group(self) -> Group:
        """The group, of tensors of its own."""
        return group_of(self.shape)


def subject_of(group: Group, derived: Collection[Tensor] = ()) -> Subject:
    """A group as it is tuned, its result in memory of its own; `derived` are computed from
    constants before the first call."""
    constants = (
        number
        for number, each in enumerate(group.inputs)
        if each.storage is not None or each in derived
    )
    return Subject(shape_of(group.apart), tuple(constants))


def facts_of(subject: Subject, target: Target) -> dict[str, Any]:
    """What a record of a group counts for, the device apart."""
    shape = subject.shape
    assert shape.anchor is not None
    op = shape.wiring[shape.anchor][0]
    names = [each.name for each in SCHEDULES if isinstance(op, each.ops)]
    facts = {
        "group": signature(shape.wiring, [shape.anchor, *shape.also]),
        "constants": subject.constants,
        "target": str(target),
        "among": names,
        "compiler": compiler_of_records(target),
        **origin(),
    }
    found: dict[str, Any] = json.loads(canonical(facts))
    return found


def network_facts(subjects: Mapping[Subject, int], target: Target) -> dict[str, Any]:
    """What a record of whole calls counts for: the groups, each with how many are alike."""
    found = {"target": str(target), "compiler": compiler_of_records(target), **origin()}
    parts = [
        [facts_of(subject, target)["group"], subject.constants, count]
        for subject, count in subjects.items()
    ]
    digest = hashlib.sha256(canonical(parts).encode()).hexdigest()
    whole: dict[str, Any] = json.loads(canonical({"network": digest, **found}))
    return whole


def compiler_of_records(target: Target) -> dict[str, object]:
    """The compiler that a record counts for."""
    # The option that names a target says no more than the target.
    return {k: v for k, v in Units(target).compiler().items() if k != "target"}


def device_name(device: str) -> str:
    """A device as records name it: its product, and on the CPU how much of it there is."""
    if device != "cpu":
        return cuda_name(device)
    return f"{host_name()}, {usual_threads()} threads"
