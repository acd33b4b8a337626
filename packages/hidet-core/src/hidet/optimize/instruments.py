"""What looks on while passes run: printing, saving and timing, where options ask for it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from time import perf_counter

from hidet import options
from hidet.graph.flow import FlowGraph

GraphPass = Callable[[FlowGraph], FlowGraph]
Observer = Callable[[GraphPass, FlowGraph], None]


def instruments(graph: FlowGraph) -> list[Observer]:
    """The observers that the options `verbose`, `save_graph` and `profile_passes` ask for."""
    found: list[Observer] = []
    if options.verbose.get() or options.profile_passes.get():
        found.append(Times(graph, options.verbose.get(), options.profile_passes.get()))
    if options.save_graph.get():
        found.append(Saved(graph, Path(options.save_graph.get())))
    return found


class Saved:
    """Writes a graph as it is given and after each pass: `00-input.txt`, `01-<pass>.txt`, ...

    Each graph has a folder of its own: its name, with a number from the second one on.
    """

    def __init__(self, graph: FlowGraph, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = free_folder(folder, graph.name)
        self.number = count()
        self.write("input", graph)

    def __call__(self, after: GraphPass, graph: FlowGraph) -> None:
        """The graph after a pass."""
        self.write(after.__name__, graph)

    def write(self, stage: str, graph: FlowGraph) -> None:
        """The next stage."""
        path = self.folder / f"{next(self.number):02}-{stage}.txt"
        path.write_text(f"{graph.show()}\n")


def free_folder(folder: Path, name: str) -> Path:
    """A new folder of that name, with the first number that is free if the name is taken."""
    for number in count():
        made = folder / (name if number == 0 else f"{name}-{number}")
        try:
            made.mkdir()
        except FileExistsError:
            continue
        return made
    raise AssertionError("numbers do not end")


class Times:
    """Prints for each pass how many operators it left, and its time; or adds that to a file."""

    def __init__(self, graph: FlowGraph, shown: bool, path: str) -> None:
        self.name, self.shown, self.path = graph.name, shown, path
        self.nodes = len(graph.nodes)
        self.start = perf_counter()

    def __call__(self, after: GraphPass, graph: FlowGraph) -> None:
        """The time since the pass before, without what observers took."""
        took = perf_counter() - self.start
        line = f"{self.name}: {after.__name__}: {self.nodes} -> {len(graph.nodes)} operators, "
        line += f"{took * 1e3:.3f} ms"
        if self.shown:
            print(line)
        if self.path:
            with Path(self.path).open("a") as file:
                file.write(f"{line}\n")
        self.nodes, self.start = len(graph.nodes), perf_counter()
