"""`hidet bench` of what `module:function` gives: a model compiled, beside its framework."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pkgutil import resolve_name
from typing import Any

import numpy as np

from hidet.build.arguments import current_stream, described, glance
from hidet.cli.bench_table import Measured, table
from hidet.cli.example import blame
from hidet.errors import BadArgument, HidetError
from hidet.frontend import installed, load
from hidet.graph import asarray
from hidet.runtime.devices.timing import device_seconds, host_seconds

WARM_UPS = 3


def bench_model(model: Any, *inputs: Any, repeat: int) -> int:
    """Print how long calls of a model take, by its framework and compiled."""
    name = frontend_of(model)
    runs = systems(name, model)
    where = next((described(each[1]).device for each in map(glance, inputs) if each), "cpu")
    rows = [(row, runs[row.name]) for row in started(runs, inputs, name, model)]
    for _ in range(repeat):  # in turns, so that what disturbs one disturbs the other
        for row, run in rows:
            row.times.append(seconds(lambda run=run: run(*inputs), where) * 1e3)  # type: ignore[misc]
    first = rows[0][0]
    print(f"{type(model).__name__} on {where}, {repeat} calls in turns; errors beside {first.name}")
    print(*table([row for row, _ in rows], first.results), sep="\n")
    return 0


def systems(name: str, model: Any) -> dict[str, Callable[..., Any]]:
    """What runs the model by name: its framework, as its frontend knows to run it."""
    beside = installed()[name].beside_model
    return dict(resolve_name(beside)(model)) if beside else {name: model}


def started(
    runs: dict[str, Callable[..., Any]], inputs: Sequence[Any], name: str, model: Any
) -> Iterator[Measured]:
    """Each program with its results, once it has compiled; one that fails is told, and left out."""
    first = next(iter(runs))
    for label in (*runs, "hidet"):
        start = time.perf_counter()
        try:
            if label == "hidet":
                runs["hidet"] = load(name).compile(model, *inputs)
            for _ in range(WARM_UPS):
                results = runs[label](*inputs)
        except HidetError:
            raise
        except Exception as error:  # of another program, whatever it raises
            if label == first:
                blame(error)  # the model itself fails
            if label == "hidet":
                raise
            print(f"{label} does not run it: {error}")
            continue
        yield Measured(label, time.perf_counter() - start, [*arrays(results)])


def arrays(results: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The tensors in what a model gives, as numpy arrays."""
    if isinstance(results, Mapping):
        results = list(results.values())
    if isinstance(results, list | tuple):
        for each in results:
            yield from arrays(each)
    elif hasattr(results, "__dlpack__"):
        yield asarray(results).cpu().numpy()


def seconds(run: Callable[[], object], device: str) -> float:
    """The time of one call."""
    if device == "cpu":
        return host_seconds(run)
    return device_seconds(run, device, current_stream(device))


def frontend_of(model: Any) -> str:
    """The frontend of the framework that a model is of."""
    roots = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    for name, manifest in installed().items():
        if manifest.framework in roots:
            return name
    raise BadArgument(
        f"no installed frontend takes a {type(model).__name__}",
        help=f"there are {', '.join(installed()) or 'none'}",
    )
