"""`hidet bench` of a model file: its speed and its error, beside other programs that run it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hidet.cli.bench_table import Measured, table
from hidet.cli.run import arguments
from hidet.errors import HidetError
from hidet.frontend.files import CompiledFile, compile_file, others
from hidet.graph.evaluate import evaluate

WARM_UPS = 3
Run = Callable[[Mapping[str, Any]], Sequence[Any]]


@dataclass
class Program(Measured):
    """A program with what runs it."""

    run: Run = field(kw_only=True)


def bench_file(
    path: str,
    device: str | None,
    files: Sequence[str],
    sizes: Mapping[str, int],
    repeat: int,
) -> int:
    """Print how long calls take with numpy arrays in and out, and how exact they are."""
    start = time.perf_counter()
    model = compile_file(path, device)
    compiled = model.compiled
    seconds = time.perf_counter() - start
    given = [each.cpu().numpy() for each in arguments(compiled, files, sizes)]
    named = dict(zip(compiled.plan.input_names, given, strict=True))
    rows = beside(path, device)
    rows.append(Program("hidet", seconds, run=lambda feeds: model.run([*feeds.values()])))
    rows = [each for each in rows if is_running(each, named)]
    for _ in range(repeat):  # in turns, so that what disturbs one disturbs the other
        for each in rows:
            start = time.perf_counter()
            each.run(named)
            each.times.append((time.perf_counter() - start) * 1e3)
    expected = in_float64(model, given)
    print(f"{path} on {compiled.device}, {repeat} calls in turns")
    print(*table(rows, expected), sep="\n")
    return 0


def beside(path: str, device: str | None) -> list[Program]:
    """The other programs here that run the file."""
    start = time.perf_counter()
    found = others(path, device)
    return [Program(name, time.perf_counter() - start, run=run) for name, run in found.items()]


def is_running(program: Program, named: Mapping[str, Any]) -> bool:
    """Whether a program runs the model, tried and warmed up; what other programs say is printed."""
    try:
        for _ in range(WARM_UPS):
            program.results = program.run(named)
    except HidetError:
        raise
    except Exception as error:  # of another program, whatever it raises
        print(f"{program.name} does not run it: {error}")
        return False
    return True


def in_float64(model: CompiledFile, given: Sequence[Any]) -> Sequence[Any] | None:
    """The results by numpy's references in float64; None where an operator has none."""
    try:
        return evaluate(model.graph, *given)
    except (HidetError, NotImplementedError) as error:
        print(f"errors are not known: {error}")
        return None
