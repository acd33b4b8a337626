"""A compiled graph as one file: plans as JSON, binaries, weights as safetensors, hashes of all.

Nothing in it is ever executed or unpickled before its hash and its fields have been checked. The
hashes guard against damage; who may write the file is for the file system to say.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from hidet.errors import BadArchive, BadArgument
from hidet.runtime.plans.calls import check_calls
from hidet.runtime.plans.files import AS_USUAL, write_whole
from hidet.runtime.plans.plan import Buffer, Plan
from hidet.runtime.plans.plan_reader import read_plan
from hidet.runtime.plans.variants import conditions
from hidet.runtime.team import TEAM
from hidet.types import dtype

FORMAT = 7
READABLE = (1, 2, 3, 4, 5, 6, FORMAT)
"""The formats that are read; the first had no tensor maps, the second no plans that run plans, the
third none that follow others, the fourth no team of threads, the fifth no launches that sizes
choose, the sixth no inputs that lie in other orders than rows. An archive is written in the oldest
after the second that has what it needs."""
MANIFEST = "manifest.json"
DAMAGE = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, EOFError,
    zipfile.BadZipFile, struct.error, SafetensorError,
)  # fmt: skip
"""What reading a file raises that is not what it should be."""


@dataclass(frozen=True)
class Archive:
    """Plans ("main", and "prepare" if constants are derived), binaries and weights by name.

    The plans of further targets are named after them: "main@sm_90a". All share the weights.
    `host` has what the frontend that `meta` names needs to run the plans' host steps, by their key.
    """

    plans: Mapping[str, Plan]
    binaries: Mapping[str, bytes]
    weights: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    host: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def main(self) -> Plan:
        """What a call does."""
        return self.plans["main"]

    @property
    def called(self) -> dict[str, Plan]:
        """The plans of a call, in order: the main one, and those that follow as sizes are read."""
        found = {"main": self.main}
        while (then := [*found.values()][-1].then) is not None:
            found[then.plan] = self.plans[then.plan]
        return found

    @property
    def results(self) -> list[Buffer]:
        """The buffers of all results of a call, in order."""
        found: list[Buffer] = []
        for plan in reversed(self.called.values()):
            found = plan.merged([plan.buffers[number] for number in plan.own_outputs], found)
        return found

    @property
    def orders(self) -> dict[int, tuple[int, ...]]:
        """By position, the order in memory of the axes of those inputs that do not lie in rows."""
        found = (self.main.buffers[number].order for number in self.main.inputs)
        return {position: order for position, order in enumerate(found) if order}

    @property
    def constants(self) -> frozenset[str]:
        """The names of the weights and derived constants that calls read."""
        return frozenset(
            plan.buffers[number].name
            for plan in self.called.values()
            for number in (*plan.of_role("weight"), *plan.of_role("derived"))
        )

    @property
    def targets(self) -> tuple[str, ...]:
        """What the archive was compiled for."""
        mains = [plan for name, plan in self.plans.items() if name.partition("@")[0] == "main"]
        return tuple(plan.target for plan in mains)

    def only(self, target: str) -> Archive:
        """The plans of one of the targets, with the binaries that they use."""
        plans = {
            name.partition("@")[0]: plan
            for name, plan in self.plans.items()
            if plan.target == target
        }
        used = {name for plan in plans.values() for name in plan.binaries}
        used |= {TEAM} if target.startswith("cpu") else set()
        binaries = {name: body for name, body in self.binaries.items() if name in used}
        return replace(self, plans=plans, binaries=binaries)

    def joined(self, other: Archive) -> Archive:
        """This archive with another one's target beside it: of the same graph and weights."""
        plans = dict(self.plans)
        for name, plan in other.plans.items():
            if plan.target in self.targets:
                raise BadArgument(f"two plans for {plan.target}")
            plans[f"{name.partition('@')[0]}@{plan.target}"] = plan
        return replace(self, plans=plans, binaries={**self.binaries, **other.binaries})

    @property
    def format(self) -> int:
        """The format that a file of it has."""
        if self.orders:
            return FORMAT
        if any(conditions(step) for plan in self.plans.values() for step in plan.steps):
            return 6
        if TEAM in self.binaries:
            return 5
        return 4 if any(each.then is not None for each in self.plans.values()) else 3

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the archive; the file appears whole or not at all."""
        write_whole(path, self.to_bytes(), AS_USUAL)

    def to_bytes(self) -> bytes:
        """The file's content."""
        raw = {
            name: np.ascontiguousarray(w).reshape(-1).view(np.uint8)
            for name, w in self.weights.items()
        }
        members = {f"binaries/{name}": binary for name, binary in self.binaries.items()}
        members["weights.safetensors"] = save_tensors(raw)
        members |= {f"host/{number}": body for number, body in enumerate(self.host.values())}
        facts = {
            "format": self.format,
            "meta": dict(self.meta),
            "host": list(self.host),
            "plans": {name: plan.to_json() for name, plan in self.plans.items()},
            "weights": {n: [dtype(w.dtype).name, list(w.shape)] for n, w in self.weights.items()},
            "sha256": {name: hashlib.sha256(body).hexdigest() for name, body in members.items()},
        }
        manifest = json.dumps(facts, sort_keys=True).encode()
        digest = hashlib.sha256(manifest).hexdigest().encode()
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as file:
            file.writestr(zipfile.ZipInfo(MANIFEST), digest + b"\n" + manifest)
            for name, body in members.items():
                file.writestr(zipfile.ZipInfo(name), body)
        return out.getvalue()

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Archive:
        """Read an archive; BadArchive says what is wrong with one that was damaged."""
        try:
            content = Path(path).read_bytes()
        except IsADirectoryError:
            raise BadArchive(
                f"{os.fspath(path)} is a folder, and an archive of hidet is one file",
                help="`hidet compile` makes a .hidet file of a model, `hidet.load` takes that",
            ) from None
        return read(content, str(path))


def read(content: bytes, where: str) -> Archive:
    """The archive in a file's content."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            members = {each.filename: whole(file, each, where) for each in file.infolist()}
        digest, _, manifest = members.pop(MANIFEST).partition(b"\n")
        if hashlib.sha256(manifest).hexdigest().encode() != digest:
            raise BadArchive(f"{where}: the manifest was altered")
        facts = json.loads(manifest)
        return checked(facts, members, where)
    except BadArchive:
        raise
    except DAMAGE as error:
        raise BadArchive(
            f"{where} is no archive of hidet, or a damaged one: {error}",
            help="`CompiledGraph.save` writes archives; what `FlowGraph.save` wrote, "
            "`FlowGraph.load` reads",
        ) from error


def whole(file: zipfile.ZipFile, member: zipfile.ZipInfo, where: str) -> bytes:
    """A member's content. None is compressed: a small file could ask for any amount of memory."""
    if member.compress_type != zipfile.ZIP_STORED:
        raise BadArchive(f"{where}: {member.filename} is compressed, which no archive of hidet is")
    return file.read(member)


def checked(facts: dict[str, Any], members: dict[str, bytes], where: str) -> Archive:
    """The archive that a manifest describes, if everything fits together."""
    if facts["format"] not in READABLE:
        raise BadArchive(
            f"{where} has format {facts['format']}; this hidet reads up to {FORMAT}",
            help="install the version of hidet-core that wrote it, or a later one",
        )
    if not isinstance(facts["meta"], dict):
        raise BadArchive(f"{where} says of itself {str(facts['meta'])[:80]}, which is no mapping")
    for name, digest in {"weights.safetensors": "", **facts["sha256"]}.items():
        if hashlib.sha256(members.get(name, b"")).hexdigest() != digest:
            raise BadArchive(f"{where}: {name} is missing or was altered")
    plans = {name: read_plan(plan) for name, plan in facts["plans"].items()}
    binaries = {
        name.removeprefix("binaries/"): body
        for name, body in members.items()
        if name.startswith("binaries/") and name in facts["sha256"]
    }
    check_calls(plans)
    for plan in plans.values():
        missing = plan.binaries - set(binaries)
        if missing:
            raise BadArchive(f"{where} lacks the binaries {', '.join(sorted(missing))}")
    raw = load_tensors(members["weights.safetensors"])
    weights = {
        name: raw[name].view(dtype(kind).numpy).reshape(shape)
        for name, (kind, shape) in facts["weights"].items()
    }
    if "main" not in plans:
        raise BadArchive(f"{where} has no main plan")
    host = {str(key): members[f"host/{n}"] for n, key in enumerate(facts.get("host", ()))}
    if not all(f"host/{number}" in facts["sha256"] for number in range(len(host))):
        raise BadArchive(f"{where}: what its host steps need was altered")
    return Archive(plans, binaries, weights, facts["meta"], host)
