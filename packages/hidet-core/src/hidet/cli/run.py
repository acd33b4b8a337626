"""`hidet run`: a saved graph on given or random inputs, its results and how long it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hidet.build.compiled import CompiledGraph, load
from hidet.build.permuted import lying
from hidet.errors import BadArgument, input_called
from hidet.frontend.files import compile_file, frontend_for
from hidet.graph import Tensor, asarray, randint, randn
from hidet.runtime.binding.bound import between, typed
from hidet.runtime.devices.timing import median_seconds
from hidet.runtime.plans.plan import Buffer
from hidet.runtime.plans.sizes import evaluate
from hidet.types import dtype

CALLS = 20
"""How many are profiled where nobody says."""
EXAMPLE = 8
"""A size to try, if it may be that."""


def run(
    path: str,
    device: str | None,
    inputs: Sequence[str],
    sizes: Sequence[str],
    output: str | None,
    repeat: int,
    profile: bool = False,
) -> int:
    """Run the graph in a file, or a model file; inputs that no file gives are random.

    `profile` says where the time of a call goes.
    """
    compiled = compile_file(path, device).compiled if frontend_for(path) else load(path, device)
    plan = compiled.plan
    print(compiled)
    for name, (low, high) in plan.limits.items():
        print(f"{name}: {between(low, high)}")
    given = as_read(compiled, arguments(compiled, inputs, dict(map(assigned, sizes))))
    results = compiled.run(given)
    for buffer, result in zip(compiled.archive.results, results, strict=True):
        print(summary(buffer, result))
    if output is not None:
        arrays = {f"output{i}": each.cpu().numpy() for i, each in enumerate(results)}
        np.savez(output, **arrays)  # type: ignore[arg-type]
    if repeat:
        seconds = median_seconds(
            lambda: compiled.run(given), device=compiled.device, repeats=repeat
        )
        print(f"{seconds * 1e3:.3f} ms, median of {repeat}")
    if profile:
        print(compiled.profile(*given, repeat=repeat or CALLS))
    return 0


def arguments(
    compiled: CompiledGraph, files: Sequence[str], sizes: Mapping[str, int]
) -> list[Tensor]:
    """The inputs: from .npy files in order or by name, random ones for the others."""
    plan = compiled.plan
    given = by_position(plan.input_names, files)
    for name in sizes:
        if name not in plan.symbols:
            known = ", ".join(plan.symbols) or "none: all are fixed"
            raise BadArgument(f"the graph has no size {name!r}", help=f"it has {known}")
    made = []
    for position, number in enumerate(plan.inputs):
        buffer = plan.buffers[number]
        if position in given:
            made.append(read(given[position]).to(device=compiled.device))
        else:
            made.append(random(buffer, sizes, position, compiled))
    return made


def as_read(compiled: CompiledGraph, given: Sequence[Tensor]) -> list[Any]:
    """The inputs as they lie in memory if calls copy none."""
    return [
        lying(each, compiled.inputs.orders.get(position, ())) for position, each in enumerate(given)
    ]


def by_position(names: Sequence[str], files: Sequence[str]) -> dict[int, str]:
    """The files of inputs by their positions: "x=file.npy" is that of x, others come in order."""
    found: dict[int, str] = {}
    for each in files:
        name, _, file = each.partition("=")
        if name in names:
            position = names.index(name)
        else:
            position = next((i for i in range(len(names)) if i not in found), len(names))
            file = each
        if position in found:
            raise BadArgument(f"{input_called(name)} is given twice")
        if position == len(names):
            raise BadArgument(f"{len(files)} inputs for a graph of {len(names)}")
        found[position] = file
    return found


def read(path: str) -> Tensor:
    """An array from a file of numpy's."""
    try:
        array = np.load(Path(path), allow_pickle=False)
    except (OSError, ValueError) as error:
        raise BadArgument(f"{path} is no .npy file that can be read: {error}") from error
    if not isinstance(array, np.ndarray):
        raise BadArgument(
            f"{path} holds several arrays", help="give each input a .npy file of its own"
        )
    return asarray(array)


def random(buffer: Buffer, sizes: Mapping[str, int], seed: int, compiled: CompiledGraph) -> Tensor:
    """Random values for an input."""
    try:
        shape = [evaluate(size, sizes) for size in buffer.shape]
    except KeyError as error:
        name = error.args[0]
        low, high = compiled.plan.limits.get(name, (0, None))
        example = max(low, EXAMPLE if high is None else min(EXAMPLE, high))
        raise BadArgument(
            f"the size {name} of {typed(buffer)} is not known",
            help=f"pass --size {name}={example}",
        ) from error
    device = compiled.device
    if dtype(buffer.dtype).is_float:
        return randn(shape, buffer.dtype, device, seed=seed)
    return randint(0, 2, shape, buffer.dtype, device, seed=seed)


def assigned(text: str) -> tuple[str, int]:
    """A size such as "n=8"."""
    name, _, value = text.partition("=")
    if not value.isdecimal():
        raise BadArgument(f"--size {text!r} gives no number", help="write it like --size n=8")
    return name, int(value)


def summary(buffer: Buffer, result: Tensor) -> str:
    """A result in a line."""
    values: Any = result.cpu().numpy()
    wide = values.astype(np.float64)
    shape = ", ".join(map(str, result.shape))
    if not wide.size:
        return f"{buffer.name}: {result.dtype.name}[{shape}], empty"
    return (
        f"{buffer.name}: {result.dtype.name}[{shape}], "
        f"min {wide.min():.4g}, mean {wide.mean():.4g}, max {wide.max():.4g}"
    )
