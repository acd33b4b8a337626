"""`hidet bench`: how long a model takes, compiled, beside its framework."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from hidet.build import compiled as saved
from hidet.build.arguments import current_stream
from hidet.cli.bench_file import bench_file
from hidet.cli.bench_model import bench_model
from hidet.cli.busy import load
from hidet.cli.example import example
from hidet.cli.run import arguments, as_read, assigned
from hidet.errors import BadArgument
from hidet.frontend.files import frontend_for
from hidet.runtime.devices.timing import median_seconds


def bench(model: str, device: str | None, inputs: list[str], sizes: list[str], repeat: int) -> int:
    """Measure a model file, a saved graph, or what `module:function` gives: a model, its inputs."""
    if repeat < 1:
        raise BadArgument(f"--repeat {repeat} measures nothing")
    is_busy, settings = load()  # now: later it is this command that runs
    if is_busy:
        print(f"the machine is busy, and times vary: {settings}")
    if frontend_for(model):
        return bench_file(model, device, inputs, dict(map(assigned, sizes)), repeat)
    if Path(model).exists():
        compiled = saved.load(model, device)
        given = as_read(compiled, arguments(compiled, inputs, dict(map(assigned, sizes))))
        print(compiled)
        measured("hidet", lambda: compiled.run(given), compiled.device, repeat)
        return 0
    if device is not None or sizes or inputs:
        raise BadArgument(f"--device, --input and --size are for files: {model} gives its inputs")
    return bench_model(*example(model), repeat=repeat)


def measured(label: str, run: Callable[[], object], device: str, repeat: int) -> None:
    """Print the median time of a call."""
    stream = 0 if device == "cpu" else current_stream(device)
    seconds = median_seconds(run, device=device, stream=stream, repeats=repeat)
    print(f"{label:8}  {seconds * 1e3:.3f} ms, median of {repeat}")
