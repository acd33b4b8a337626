"""`hidet bench` of a model file: its speed and its error, beside other programs that run it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np

from hidet.cli.run import arguments
from hidet.errors import HidetError
from hidet.frontend.files import CompiledFile, compile_file, others
from hidet.graph.evaluate import evaluate

WARM_UPS = 3
Run = Callable[[Mapping[str, Any]], Sequence[Any]]


@dataclass
class Measured:
    """What was measured of one program: milliseconds of each call, results, seconds to begin."""

    name: str
    run: Run
    seconds: float
    results: Sequence[Any] = ()
    times: list[float] = field(default_factory=list)

    def row(self, expected: Sequence[Any] | None) -> str:
        """Its line of the table."""
        error = "" if expected is None else f"{difference(self.results, expected):.1e}"
        return (
            f"{self.name:12}  {median(self.times):10.3f}  {min(self.times):10.3f}  {error:>8}  "
            f"{self.seconds:7.1f}"
        )


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
    rows = [Measured("hidet", lambda feeds: model.run([*feeds.values()]), seconds)]
    rows += beside(path, device)
    rows = [each for each in rows if is_running(each, named)]
    for _ in range(repeat):  # in turns, so that what disturbs one disturbs the other
        for each in rows:
            start = time.perf_counter()
            each.run(named)
            each.times.append((time.perf_counter() - start) * 1e3)
    expected = in_float64(model, given)
    print(f"{path} on {compiled.device}, {repeat} calls in turns")
    print(f"{'':12}  {'median ms':>10}  {'min ms':>10}  {'error':>8}  {'start s':>7}")
    for each in rows:
        print(each.row(expected))
    ours, *rest = rows
    for each in rest:
        print(f"{median(each.times) / median(ours.times):.3g} times the speed of {each.name}")
    return 0


def beside(path: str, device: str | None) -> list[Measured]:
    """The other programs here that run the file."""
    start = time.perf_counter()
    found = others(path, device)
    return [Measured(name, run, time.perf_counter() - start) for name, run in found.items()]


def is_running(program: Measured, named: Mapping[str, Any]) -> bool:
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


def difference(found: Sequence[Any], expected: Sequence[Any]) -> float:
    """The largest difference, in parts of the largest value of that result."""
    worst = 0.0
    for one, other in zip(found, expected, strict=False):
        wide = np.asarray(one, np.float64)
        scale = max(float(np.abs(other).max(initial=0)), 1e-30)
        worst = max(worst, float(np.abs(wide - other).max(initial=0)) / scale)
    return worst
