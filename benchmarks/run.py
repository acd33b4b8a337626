"""`nox -s bench -- ...`: networks, operators and host overhead, as tables and JSON.

Without arguments: the seven networks, all operators and the overhead, on the GPU if there is one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks.bandwidth import Streamed, each_streamed
from benchmarks.measure.bandwidth import (
    BandwidthRow,
    bandwidth_table,
    copies,
    measure_bandwidth,
)
from benchmarks.measure.boundaries import BoundaryRow, boundary_table, measure_boundaries
from benchmarks.measure.compiling import (
    COMPARED,
    SECONDS,
    CompileRow,
    compile_table,
    measure_compiling,
)
from benchmarks.measure.decoding import (
    COMPILERS,
    DecodeRow,
    decode_table,
    measure_decoding,
)
from benchmarks.measure.footprint import PlannedRow, planned, planned_table
from benchmarks.measure.libraries import set_libraries
from benchmarks.measure.machine import default_device, headline, machine
from benchmarks.measure.memory import MemoryRow, measure_memory, memory_table
from benchmarks.measure.networks import Row, measure
from benchmarks.measure.operators import LARGEST, OperatorRow, measure_operator, operator_table
from benchmarks.measure.overhead import TENSORS, OverheadRow, measure_overhead, overhead_table
from benchmarks.measure.systems import SYSTEMS, usual
from benchmarks.measure.table import network_table
from benchmarks.measure.tuned import SPACES, TunedRow, measure_tuned, tuned_table
from benchmarks.models import MEASURED, NETWORKS, build
from benchmarks.networks.language import DECODERS
from benchmarks.operators import cases
from benchmarks.source import write_sources

KINDS = (
    *("networks", "operators", "overhead", "bandwidth", "tuned", "boundaries", "memory"),
    *("planned", "compiling", "decoding"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for; status 1 if hidet failed anywhere."""
    set_libraries()
    asked = parse(arguments)
    if asked.source:
        write_sources(chosen(asked), asked.dtype, asked.source)
        return 0
    facts = machine(asked.device)
    print(headline(facts), flush=True)
    networks = list(shown(each_network(asked)))
    operators = list(shown(each_operator(asked)))
    overhead = list(shown(each_overhead(asked)))
    bandwidth = list(shown(each_bandwidth(asked)))
    tuned = list(shown(each_tuned(asked)))
    boundaries = list(shown(each_boundary(asked)))
    memory = list(shown(each_memory(asked)))
    plans = list(shown(each_planned(asked)))
    compiling = list(shown(each_compiling(asked)))
    decoding = list(shown(each_decoding(asked)))
    parts = (
        ("Networks", networks, network_table),
        ("Operators", operators, operator_table),
        ("Host time of a call", overhead, overhead_table),
        ("Bandwidth", bandwidth, bandwidth_table),
        ("Schedules by measuring", tuned, tuned_table),
        ("Boundaries between kernels", boundaries, boundary_table),
        ("Memory", memory, memory_table),
        ("Memory, as the plans tell it", plans, planned_table),
        ("First calls", compiling, compile_table),
        ("Steps of decoding", decoding, decode_table),
    )
    text = f"{headline(facts)}\n"
    text += "".join(f"\n## {title}\n\n{form(rows)}\n" for title, rows, form in parts if rows)
    print(f"\n{text}")
    if asked.json:
        rows = dict(zip(KINDS, ([asdict(r) for r in part[1]] for part in parts), strict=True))
        save(asked.json, text, {"machine": facts, **rows})
    measured = (*operators, *overhead, *bandwidth, *tuned, *boundaries, *compiling)
    failed = [row for row in measured if row.failure]
    failed += [
        row for row in (*networks, *decoding) if row.failure and row.system.startswith("hidet")
    ]
    print(f"{len(failed)} of hidet's measurements failed")
    return min(len(failed), 1)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The arguments; naming no kind asks for all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="*", choices=NETWORKS, help="none named: all seven")
    parser.add_argument("--operators", nargs="*", help="those whose name contains one of these")
    parser.add_argument("--overhead", action="store_true", help="host time of a call")
    parser.add_argument("--bandwidth", nargs="*", help="those whose name contains one of these")
    parser.add_argument("--tuned", nargs="*", help="networks and operators at each search space")
    parser.add_argument("--tune-seconds", type=int, default=0, help="limit of each search")
    parser.add_argument(
        "--tune-spaces", nargs="+", type=int, choices=SPACES, default=SPACES, help="default: all"
    )
    parser.add_argument(
        "--boundaries", nargs="*", choices=NETWORKS, help="time between kernels; none named: seven"
    )
    parser.add_argument(
        "--memory", nargs="*", choices=NETWORKS, help="beside the weights; none named: seven"
    )
    parser.add_argument(
        "--compile", nargs="*", choices=NETWORKS, help="first calls of a process; none named: seven"
    )
    parser.add_argument(
        "--compile-seconds", type=float, default=SECONDS, help="first calls of a network may take"
    )
    parser.add_argument(
        "--decode", nargs="*", choices=DECODERS, help="a token a step; none named: the first two"
    )
    parser.add_argument("--cache", nargs="+", type=int, default=[1024], help="tokens it holds")
    parser.add_argument(
        "--decode-systems", nargs="+", choices=COMPILERS, default=list(COMPILERS)[1:]
    )
    parser.add_argument("--source", type=Path, metavar="FOLDER", help="write kernels here instead")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS)
    parser.add_argument("--dtype", choices=("float16", "bfloat16", "float32"))
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--device", choices=("cpu", "cuda"), default=default_device())
    parser.add_argument("--json", type=Path, metavar="FILE", help="write this, and a .md beside it")
    asked = parser.parse_args(arguments)
    named = (asked.networks, asked.operators, asked.bandwidth, asked.tuned)
    named += (asked.boundaries, asked.memory, asked.compile, asked.decode)
    if all(each is None for each in named) and not asked.overhead and not asked.source:
        asked.networks, asked.operators, asked.overhead = [], [], True
    gpu = asked.device == "cuda"
    asked.dtype = getattr(torch, asked.dtype or ("float16" if gpu else "float32"))
    asked.systems = asked.systems or usual(asked.device)
    return asked


def each_network(asked: argparse.Namespace) -> Iterable[Row]:
    """The rows of the networks that are asked for."""
    if asked.networks is not None:
        for name in asked.networks or MEASURED:
            yield from measure(name, asked.systems, asked.dtype, asked.device, asked.batch)


def each_operator(asked: argparse.Namespace) -> Iterable[OperatorRow]:
    """The rows of the operators that are asked for; says which are too large for the device."""
    if asked.operators is not None:
        for case in cases():
            if asked.operators and not any(part in case.name for part in asked.operators):
                continue
            if case.flops > LARGEST[asked.device]:
                print(f"{case.name}: left out, {case.flops:.0e} flops")
                continue
            yield measure_operator(case, asked.dtype, asked.device)


def each_overhead(asked: argparse.Namespace) -> Iterable[OverheadRow]:
    """The rows of host overhead, if they are asked for."""
    if asked.overhead:
        for tensors in TENSORS:
            yield measure_overhead(tensors, asked.device)


def each_bandwidth(asked: argparse.Namespace) -> Iterable[BandwidthRow]:
    """The rows of operators bound by memory, if they are asked for."""
    if asked.bandwidth is not None:
        copied = copies(asked.device)
        for case in chosen(asked):
            yield measure_bandwidth(case, asked.dtype, asked.device, copied)


def each_tuned(asked: argparse.Namespace) -> Iterable[TunedRow]:
    """The rows of search spaces: networks by name, operators whose name contains what is asked."""
    names = asked.tuned if asked.tuned != [] else [*MEASURED, ""]
    for name in names or ():
        if name in NETWORKS:
            made = build(name, asked.dtype, asked.device, asked.batch)
            yield from measure_tuned(name, *made, asked.tune_seconds, asked.tune_spaces)
            continue
        for case in cases():
            if name in case.name and case.flops <= LARGEST[asked.device]:
                made = case.build(asked.dtype, asked.device)
                yield from measure_tuned(case.name, *made, asked.tune_seconds, asked.tune_spaces)


def each_boundary(asked: argparse.Namespace) -> Iterable[BoundaryRow]:
    """The rows of the time between kernels, if they are asked for."""
    if asked.boundaries is not None:
        for name in asked.boundaries or MEASURED:
            yield measure_boundaries(name, asked.dtype, asked.batch)


def each_memory(asked: argparse.Namespace) -> Iterable[MemoryRow]:
    """The rows of the memory that calls need, if they are asked for and there is a GPU."""
    if asked.memory is not None and asked.device == "cuda":
        for name in asked.memory or MEASURED:
            yield from measure_memory(name, asked.dtype, asked.batch)


def each_planned(asked: argparse.Namespace) -> Iterable[PlannedRow]:
    """The same memory from the plans for an H200, for which no GPU is needed."""
    if asked.memory is not None:
        for name in asked.memory or MEASURED:
            yield planned(name, asked.dtype, asked.batch)


def each_compiling(asked: argparse.Namespace) -> Iterable[CompileRow]:
    """The rows of first calls, if they are asked for."""
    if asked.compile is not None:
        for name in asked.compile or MEASURED:
            yield from measure_compiling(
                name,
                asked.dtype,
                asked.device,
                asked.batch,
                systems=[each for each in COMPARED if each in asked.systems],
                seconds=asked.compile_seconds,
            )


def each_decoding(asked: argparse.Namespace) -> Iterable[DecodeRow]:
    """The rows of single steps of language models, if they are asked for."""
    if asked.decode is not None:
        for name in asked.decode or list(DECODERS)[:2]:
            for cache in asked.cache:
                yield from measure_decoding(
                    name, asked.decode_systems, asked.dtype, asked.device, asked.batch, cache
                )


def chosen(asked: argparse.Namespace) -> Iterable[Streamed]:
    """The operators bound by memory whose names contain what is asked for."""
    for case in each_streamed():
        if not asked.bandwidth or any(part in case.name for part in asked.bandwidth):
            yield case


def shown(rows: Iterable[Any]) -> Iterable[Any]:
    """The rows as they are, each printed when it is there."""
    for row in rows:
        print(row, flush=True)
        yield row


def save(path: Path, text: str, data: dict[str, Any]) -> None:
    """The numbers as JSON and the tables as Markdown beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1) + "\n")
    path.with_suffix(".md").write_text(text)


if __name__ == "__main__":
    sys.exit(main())
