"""Flow graphs: inputs, outputs, and the nodes between them in an order in which they can run."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from hidet import seams
from hidet.compute.guards import assumptions
from hidet.errors import BadArgument, InternalError
from hidet.graph.axis_guard import AxisGuard
from hidet.graph.data_sizes import DataSize, found_in, stages_of
from hidet.graph.picture import picture
from hidet.graph.show import Fused, show
from hidet.graph.stored import restored, stored
from hidet.graph.tensor import Node, Tensor, alike
from hidet.ir.expr import Var
from hidet.ir.order import producers_first
from hidet.runtime.plans.files import AS_USUAL, write_whole
from hidet.runtime.plans.plan import Limits, is_range
from hidet.types import TensorType, i64

ANY_SIZE: Mapping[str, Limits] = MappingProxyType({})
ROWS: Mapping[str, Sequence[int]] = MappingProxyType({})


class FlowGraph:
    """What a model computes; `nodes` holds what the outputs need, producers first.

    Tensors with storage that nodes or outputs use are its `constants`. `limits` are the least and
    the greatest number (None: there is none) that symbolic sizes may be, by their names: what is
    built of the graph refuses others. `guards` say why axes of inputs have the sizes they have.
    `data_sizes` are the data-dependent sizes; the tensors that tell them are the last outputs,
    which do not come out. They are found where they are not given.
    """

    def __init__(
        self,
        inputs: Iterable[Tensor],
        outputs: Iterable[Tensor],
        name: str = "graph",
        limits: Mapping[str, Limits] = ANY_SIZE,
        guards: Iterable[AxisGuard] = (),
        data_sizes: Iterable[DataSize] | None = None,
    ) -> None:
        self.inputs = tuple(inputs)
        found = tuple(outputs)
        self.name = name
        self.limits = dict(limits)
        self.guards = tuple(guards)
        if data_sizes is None and assumptions():
            data_sizes = ()  # `guarded` finds them, once all is known that is assumed of them
        if data_sizes is None:
            size_sources, new = found_in(found, self.inputs, sorted_nodes)
            found, data_sizes = (
                (*(new.get(each, each) for each in found), *size_sources),
                size_sources.values(),
            )
        self.outputs, self.data_sizes = found, tuple(data_sizes)
        self.nodes = sorted_nodes(self.outputs, self.inputs)
        if self.data_sizes:
            stages = stages_of(self.nodes, self.size_sources, self.inputs)
            self.nodes.sort(key=stages.__getitem__)
        self.validate()

    @property
    def results(self) -> tuple[Tensor, ...]:
        """The outputs that come out: all but those that tell sizes."""
        return self.outputs[: len(self.outputs) - len(self.data_sizes)]

    @property
    def size_sources(self) -> dict[Var, Tensor]:
        """What tells each of the data-dependent sizes."""
        last = self.outputs[len(self.outputs) - len(self.data_sizes) :]
        return {each.size: tensor for each, tensor in zip(self.data_sizes, last, strict=True)}

    @property
    def constants(self) -> tuple[Tensor, ...]:
        """The tensors with values that the graph reads, in order of use."""
        given = set(self.inputs)
        used = [each for node in self.nodes for each in node.inputs] + list(self.outputs)
        return tuple(dict.fromkeys(t for t in used if t.storage is not None and t not in given))

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the symbolic sizes that inputs tell."""
        sizes = (size for each in self.inputs for size in each.made_type.shape)
        return tuple(dict.fromkeys(size.name for size in sizes if isinstance(size, Var)))

    def with_outputs(
        self,
        outputs: Iterable[Tensor],
        inputs: Iterable[Tensor] | None = None,
        data_sizes: Iterable[DataSize] | None = None,
    ) -> FlowGraph:
        """A graph of these outputs, and inputs if they change too, with all else that this one
        says: its name, its guards, the limits of those sizes that inputs still tell, and the sizes
        that the last outputs tell, unless these are `data_sizes`."""
        own = self.inputs if inputs is None else inputs
        made = FlowGraph(
            own,
            outputs,
            self.name,
            data_sizes=self.data_sizes if data_sizes is None else data_sizes,
        )
        given = set(made.inputs)
        made.guards = tuple(each for each in self.guards if each.tensor in given)
        made.limits = {name: ends for name, ends in self.limits.items() if name in made.symbols}
        return made

    def users(self) -> dict[Tensor, list[Node]]:
        """For each tensor the nodes that read it, in order."""
        found: dict[Tensor, list[Node]] = {}
        for node in self.nodes:
            for tensor in dict.fromkeys(node.inputs):
                found.setdefault(tensor, []).append(node)
        return found

    def validate(self) -> None:
        """Raise InternalError if a tensor has neither a value nor a way to it, or comes twice."""
        if len(set(self.inputs)) != len(self.inputs):
            raise BadArgument("a tensor is an input of the graph twice")
        for name, (low, high) in self.limits.items():
            if name not in self.symbols:
                raise BadArgument(f"there are limits of a size {name!r}, which no input has")
            if not is_range(low, high):
                raise BadArgument(f"size {name!r} is to be at least {low} and at most {high}")
        self.check_data_sizes()
        known = set(self.inputs)
        for node in self.nodes:
            for tensor in node.inputs:
                self.check(tensor, known, node)
            types = node.op.types()
            if len(types) != len(node.inputs) or not all(
                map(alike, types, (each.type for each in node.inputs))
            ):
                raise InternalError(f"{node} is applied to tensors of other types")
            known.update(node.outputs)
        for tensor in self.outputs:
            self.check(tensor, known, "the result")

    def check_data_sizes(self) -> None:
        """Raise BadArgument unless each data-dependent size has a name of its own, and an i64
        without axes that tells it."""
        names = [each.size.name for each in self.data_sizes]
        if len({*names, *self.symbols}) < len(names) + len(self.symbols):
            raise BadArgument(f"two sizes of one name among {', '.join(names)}")
        for tensor in self.size_sources.values():
            if tensor.type != TensorType(i64, ()):
                raise BadArgument(f"a size is told by {tensor.type}, not by one int64")

    def check(self, tensor: Tensor, known: set[Tensor], reader: Node | str) -> None:
        """One tensor that `reader` needs, which is only spelled out for an error."""
        if tensor not in known and tensor.storage is None:
            raise BadArgument(
                f"{reader} needs {tensor!r}, which is no input of the graph",
                help="name it among the inputs",
            )

    def __call__(self, *tensors: Tensor) -> Any:
        """Run the graph; one tensor, or a tuple if it has several outputs."""
        results = seams.call("run_graph", self, tensors)
        return results[0] if len(results) == 1 else results

    def build(self, *targets: str, orders: Mapping[str, Sequence[int]] = ROWS) -> Any:
        """The graph compiled, for its device or for `targets`: a `hidet.build.CompiledGraph`.

        It reads inputs in rows; `orders` names those that lie otherwise, with their axes in memory,
        outermost first: `{"image": (0, 2, 3, 1)}` for channels last.
        """
        return seams.call("build_graph", self, targets, orders=orders)

    def correctness_report(self, *inputs: Tensor, float64: bool = False, iteration: int = 0) -> Any:
        """How far each operator, and the whole, compiled here is from what it means: a Report.

        `print(report)` is a table, `report.rows` the same as data, `report.first` the first row
        whose error is out of line. Outputs are compared with each operator's result rounded to its
        type on the way, or with `float64` all the way. Of control flow each operator of a body that
        runs has a row, on the values of one `iteration`: by default the first.
        """
        return seams.call("correctness_report", self, inputs, float64=float64, iteration=iteration)

    def explain(self, target: str | None = None) -> str:
        """Which operators would share kernels, and why others would not; nothing is compiled.

        It is told for the graph's device, or for a target that need not be here, as "sm_90a".
        """
        return seams.call("explain_fusion", self, target)  # type: ignore[no-any-return]

    def cuda_graph(self) -> Any:
        """The graph compiled for a GPU; its `run([...])` replays one CUDA graph."""
        device = next((each.device for each in (*self.inputs, *self.outputs)), "cpu")
        if device == "cpu":
            raise BadArgument("a graph on the CPU has no CUDA graph", help="use graph.build()")
        return self.build()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph with its constants to a file, for `FlowGraph.load`: not compiled.

        Parts that a framework computes cannot be saved: BadArgument.
        """
        write_whole(path, stored(self), AS_USUAL)

    @staticmethod
    def load(path: str | os.PathLike[str], device: str | None = None) -> FlowGraph:
        """The graph in a file that `save` wrote, on its devices, or all of it on `device`.

        BadArchive says what is wrong with a file that was damaged, or uses unknown operators.
        """
        return FlowGraph(*restored(Path(path).read_bytes(), os.fspath(path), device, FlowGraph))

    def fused(self) -> Sequence[Fused] | None:
        """Which operators share a kernel, once that is known; None before `optimize`."""
        return None

    def __str__(self) -> str:
        return show(self, self.fused())

    def show(self, form: Literal["text", "svg"] = "text") -> str:
        """The graph as text, or as a picture: the text of an SVG file."""
        if form not in ("text", "svg"):
            raise BadArgument(f"a graph cannot be shown as {form!r}", help="use 'text' or 'svg'")
        return picture(self) if form == "svg" else str(self)

    def _repr_svg_(self) -> str:
        return picture(self)  # what a notebook shows


def trace_from(
    outputs: Tensor | Sequence[Tensor], inputs: Tensor | Sequence[Tensor] | None = None
) -> FlowGraph:
    """The graph that computes `outputs`; inputs not named are found, in order of use."""
    results = (outputs,) if isinstance(outputs, Tensor) else tuple(outputs)
    for each in results:
        if not isinstance(each, Tensor):
            raise BadArgument(f"a graph computes tensors, not {type(each).__name__}")
    if inputs is not None:
        return FlowGraph((inputs,) if isinstance(inputs, Tensor) else inputs, results)
    leaves = [t for node in sorted_nodes(results, ()) for t in node.inputs] + list(results)
    found = dict.fromkeys(t for t in leaves if t.trace is None and t.storage is None)
    return FlowGraph(found, results)


def optimize(graph: FlowGraph) -> FlowGraph:
    """The graph after all passes, for the target of its inputs; printed, it shows which operators
    share a kernel: `FusedMatmulAdd(x, c, c_1, fused_graph=FlowGraph(Matmul, Add), anchor=0)`.

    Its `nodes` are the single operators; it can be called, compiled and saved as any graph.
    """
    return seams.call("optimize_graph", graph)  # type: ignore[no-any-return]


def sorted_nodes(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Node]:
    """What `outputs` need and `inputs` do not give, producers first, in a fixed order."""
    stop = set(inputs)

    def producer(tensor: Tensor) -> list[Node]:
        known = tensor in stop or tensor.storage is not None or tensor.trace is None
        return [] if known or tensor.trace is None else [tensor.trace[0]]

    def producers(tensors: Sequence[Tensor]) -> list[Node]:
        return [node for tensor in tensors for node in producer(tensor)]

    return producers_first(producers(outputs), lambda node: producers(node.inputs))
