"""Writing every stage of compilation to a folder, as text: what `HIDET_DUMP=folder` gives.

folder/graph/00-input.txt 01-<graph pass>.txt ... 04-groups_of_main.txt
folder/<kernel>/00-scheduled.txt 01-<pass>.txt ... 12-kernel.cu (or .cpp)
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from hidet import options
from hidet.build.reports.explain import described
from hidet.build.reports.names import unique
from hidet.codegen import cpu, cuda
from hidet.fusion.group import Group
from hidet.graph.flow import FlowGraph
from hidet.ir.kernel import Kernel, KernelKind
from hidet.optimize.pipeline import GraphPass
from hidet.passes.base import Observer
from hidet.passes.launches.observers import Check, Dump
from hidet.passes.pipeline import lower
from hidet.target import Target


def lowered(
    kernel: Kernel, label: str, observers: Sequence[Observer] = (), overlap: int = 0, lanes: int = 0
) -> Kernel:
    """The kernel ready for code generation, under a name of its own that begins with `label`.

    Its stages are checked and written down where the options say so. Where a device holds so many
    threads at once (`overlap`), launches may begin before those they depend on have ended; 0: not.
    A CPU computes powers in vectors of so many `lanes`; 0: number by number.
    """
    watching = [*observers]
    if options.check.get():
        watching.append(Check())
    if not options.dump.get():
        return unique(lower(kernel, watching, overlap, lanes), label)
    folder = Path(options.dump.get(), unique(kernel, label).name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "00-scheduled.txt").write_text(f"{kernel}\n")
    dump = Dump(folder)
    made = unique(lower(kernel, [dump, *watching], overlap, lanes), label)
    emit, suffix = (cuda.emit, "cu") if made.kind is KernelKind.CUDA else (cpu.emit, "cpp")
    (folder / f"{dump.count + 1:02}-kernel.{suffix}").write_text(emit([made]))
    return made


class GraphStages:
    """Writes the stages of one graph, numbered, beginning with the graph itself."""

    def __init__(self, graph: FlowGraph) -> None:
        self.folder = graph_folder(graph) if options.dump.get() else None
        self.count = 0
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
            for old in self.folder.glob("*.txt"):
                old.unlink()
            self.write("input", graph.show())

    def write(self, stage: str, text: str) -> None:
        """The next stage."""
        if self.folder is not None:
            (self.folder / f"{self.count:02}-{stage}.txt").write_text(f"{text}\n")
            self.count += 1

    def __call__(self, after: GraphPass, graph: FlowGraph) -> None:
        """The graph after a pass."""
        if self.folder is not None:
            self.write(after.__name__, graph.show())

    def groups(self, part: str, graph: FlowGraph, groups: Sequence[Group], target: Target) -> None:
        """Which operators of a part become one kernel, and why not more."""
        if self.folder is not None:
            self.write(f"groups_of_{part}", described(groups, target, graph.outputs))


def graph_folder(graph: FlowGraph) -> Path:
    """Where a graph's stages go: `graph`, or a name with a hash if another graph's are there."""
    text = graph.show()
    folder = Path(options.dump.get(), "graph")
    first = folder / "00-input.txt"
    if first.exists() and first.read_text() != f"{text}\n":
        return folder.with_name(f"graph-{hashlib.sha256(text.encode()).hexdigest()[:8]}")
    return folder
