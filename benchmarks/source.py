"""The CUDA text of hidet's kernels, to be read; needs no GPU."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import hidet_torch
from benchmarks.bandwidth import Streamed
from hidet.build.compile import compile_graph
from hidet.options import options

TARGET = "sm_90a"


def write_sources(cases: Iterable[Streamed], dtype: torch.dtype, folder: Path) -> None:
    """For each case every stage of compilation as text, in a folder of its name; its kernels end
    in `.cu`, with the cubin beside them."""
    for case in cases:
        name = f"{case.name}, {dtype}".replace("torch.", "")
        inside = folder / name.replace("/", "_")
        module = case.build(dtype, "cpu")
        with FakeTensorMode(allow_non_fake_inputs=True):  # types are enough: no large tensors
            found = hidet_torch.explain(module, *case.inputs(dtype, "cpu"))
        with options(dump=str(inside)):
            for graph in found.flow:
                archive = compile_graph(graph, TARGET).archive
                for unit, binary in archive.binaries.items():
                    (inside / f"{unit}.cubin").write_bytes(binary)
        print(f"{name}: {sum(1 for _ in inside.rglob('*.cu'))} kernels")
