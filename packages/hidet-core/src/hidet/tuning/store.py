"""Records on disk, one file for each operator and what it was compiled with, by device inside."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from platformdirs import user_cache_dir

from hidet import options
from hidet.errors import BadArgument
from hidet.errors.warning import warn
from hidet.runtime.plans.files import write_whole
from hidet.tuning.origin import origin
from hidet.tuning.record import Record, canonical
from hidet.tuning.report import TuningWarning

FORMAT = 2
MALFORMED = (ValueError, KeyError, TypeError, AttributeError)
Facts = Mapping[str, Any]
"""What decides how fast a candidate is, the device apart."""

_memory: dict[tuple[str, str], Record] = {}
"""What this process knows by folder and device, also where nothing is kept on disk."""


def find(facts: Facts, device: str | None) -> Record | None:
    """What is known of an operator on a device, by its name; without one, on any device."""
    for name, record in known(facts).items():
        if device in (None, name):
            return record
    return None


def known(facts: Facts) -> dict[str, Record]:
    """What is known of an operator, by device."""
    file = file_of(facts)
    found = {device: each for (path, device), each in _memory.items() if path == str(file)}
    if options.cache.get():
        found |= read(file)[1]
    return found


def keep(facts: Facts, device: str, record: Record) -> None:
    """Keep what was measured; what cannot be written is only complained about."""
    file = file_of(facts)
    _memory[str(file), device] = record
    if not options.cache.get():
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with FileLock(file.with_suffix(".lock"), timeout=60):
            write(file, facts, read(file)[1] | {device: record})
    except (OSError, Timeout) as error:
        warn(TuningWarning(f"what was measured is not kept: {error}"))


def export(path: str | os.PathLike[str]) -> int:
    """Write all results of this user to a JSON file; returns for how many operators. What whole
    calls of networks have shown is among them."""
    results = []
    for file in sorted(folder().glob("*.json")):
        facts, records = read(file)
        results += [entry(facts, records)] if records else []
    Path(path).write_text(json.dumps({"hidet_tuning": FORMAT, "results": results}, indent=1))
    return sum(is_of_operator(each["facts"]) for each in results)


def load(path: str | os.PathLike[str]) -> int:
    """Take in the results of a JSON file that `export` wrote; returns for how many operators.

    A result counts for the device, the target and the compiler that it was measured with, and its
    best schedule is checked here before it is first used; what is known here of as wide a space
    stays. BadArgument if it is no such file, or all of it is of another hidet; then nothing of it
    was taken in. What is of another one is left out with a TuningWarning. OSError if it cannot be
    read.
    """
    found = parsed(path, Path(path).read_bytes())
    fitting = [(facts, records) for facts, records in found if is_ours(facts)]
    if len(fitting) < len(found):
        others = sorted({str(facts["hidet"]) for facts, _ in found if not is_ours(facts)})
        why = (
            f"{len(found) - len(fitting)} of {len(found)} results in {path} were measured with "
            f"kernels of another hidet ({', '.join(others)}; this is {origin()['hidet']})"
        )
        if not fitting:
            raise BadArgument(why, help="measure again, and export from this version")
        warn(TuningWarning(f"{why}; they are left out"))
    for facts, records in fitting:
        here = known(facts)
        for device, record in records.items():
            if device not in here or here[device].level < record.level:
                keep(facts, device, replace(record, imported=True))
    return sum(is_of_operator(facts) for facts, _ in fitting)


def parsed(path: str | os.PathLike[str], text: bytes) -> list[tuple[Facts, dict[str, Record]]]:
    """The operators in a file; BadArgument if it is none that `export` wrote."""
    try:
        data = json.loads(text)
        number = data["hidet_tuning"]
        found = list(entries(data["results"])) if number == FORMAT else []
        for facts, _ in found:
            facts["hidet"]
    except MALFORMED as error:
        raise BadArgument(
            f"{path} holds no results of hidet.tuning.export",
            help=f"what is wrong: {type(error).__name__}: {error}",
        ) from error
    if number != FORMAT:
        help = "measure again, and export from this version"
        raise BadArgument(f"{path} has format {number}, not {FORMAT}", help=help)
    return found


def is_of_operator(facts: Facts) -> bool:
    """Whether a result is one operator's, not that of whole calls of a network."""
    return "network" not in facts


def is_ours(facts: Facts) -> bool:
    """Whether a result is of the kernels that this hidet makes."""
    return all(facts.get(name) == value for name, value in origin().items())


def entry(facts: Facts, records: Mapping[str, Record]) -> dict[str, Any]:
    """One operator as JSON-able data."""
    return {"facts": facts, "devices": {name: each.to_json() for name, each in records.items()}}


def entries(results: list[Any]) -> Iterator[tuple[Facts, dict[str, Record]]]:
    """The operators in JSON data."""
    for each in results:
        devices = each["devices"].items()
        yield dict(each["facts"]), {str(name): Record.from_json(data) for name, data in devices}


def folder() -> Path:
    """Where results are kept."""
    return Path(options.cache_dir.get() or user_cache_dir("hidet")) / "tuning"


def file_of(facts: Facts) -> Path:
    """The file of an operator."""
    return folder() / f"{hashlib.sha256(canonical(facts).encode()).hexdigest()[:32]}.json"


def read(file: Path) -> tuple[Facts, dict[str, Record]]:
    """What a file holds; nothing if it is not there. A damaged one is measured anew."""
    try:
        (found,) = entries([json.loads(file.read_text())])
    except FileNotFoundError:
        return {}, {}
    except (*MALFORMED, OSError) as error:
        warn(TuningWarning(f"{file} is not used: {error}"))
        return {}, {}
    return found


def write(file: Path, facts: Facts, records: Mapping[str, Record]) -> None:
    """Write the file of a device's results."""
    write_whole(file, json.dumps(entry(facts, records)).encode())
