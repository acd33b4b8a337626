"""`hidet bench`: how long a model takes, compiled, beside its framework."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from hidet.build.arguments import current_stream, described, glance
from hidet.build.compiled import load
from hidet.cli.bench_file import bench_file
from hidet.cli.run import arguments, assigned
from hidet.errors import BadArgument
from hidet.frontend import installed
from hidet.frontend import load as load_frontend
from hidet.frontend.files import frontend_for
from hidet.runtime.timing import median_seconds


def bench(model: str, device: str | None, inputs: list[str], sizes: list[str], repeat: int) -> int:
    """Measure a model file, a saved graph, or what `module:function` gives: a model, its inputs."""
    if repeat < 1:
        raise BadArgument(f"--repeat {repeat} measures nothing")
    if frontend_for(model):
        return bench_file(model, device, inputs, dict(map(assigned, sizes)), repeat)
    if Path(model).exists():
        compiled = load(model, device)
        given = arguments(compiled, inputs, dict(map(assigned, sizes)))
        print(compiled)
        measured("hidet", lambda: compiled.run(given), compiled.device, repeat)
        return 0
    if device is not None or sizes or inputs:
        raise BadArgument(f"--device, --input and --size are for files: {model} gives its inputs")
    made, *inputs = example(model)
    name = frontend_of(made)
    direct = load_frontend(name).compile(made, *inputs)
    where = next((described(each[1]).device for each in map(glance, inputs) if each), "cpu")
    measured(name, lambda: made(*inputs), where, repeat)
    measured("hidet", lambda: direct(*inputs), where, repeat)
    return 0


def measured(label: str, run: Callable[[], object], device: str, repeat: int) -> None:
    """Print the median time of a call."""
    stream = 0 if device == "cpu" else current_stream(device)
    seconds = median_seconds(run, device=device, stream=stream, repeats=repeat)
    print(f"{label:8}  {seconds * 1e3:.3f} ms, median of {repeat}")


def example(model: str) -> Any:
    """What the named function gives: a model, then its inputs."""
    module, colon, function = model.partition(":")
    if not colon:
        raise BadArgument(
            f"{model!r} is no file",
            help="name a model file, what CompiledGraph.save wrote, or module:function that "
            "gives (model, *inputs)",
        )
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as `python -m` does: the model is the user's own file
    try:
        make = getattr(import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise BadArgument(f"{model} cannot be imported: {error}") from error
    made = make()
    if not isinstance(made, tuple) or len(made) < 2:
        raise BadArgument(f"{model}() gives no (model, *inputs)")
    return made


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
