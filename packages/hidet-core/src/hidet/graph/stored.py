"""Flow graphs as files: what is computed as JSON, in the header of a safetensors file of constants.

A node is its operator's name, its operands by number and its attributes; types of results are
worked out again when it is read. Nothing in a file is executed or unpickled.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from hidet import seams
from hidet.errors import BadArchive, BadArgument, HidetError, Place
from hidet.graph.axis_guard import AxisGuard
from hidet.graph.body import MAX_DEPTH, Body
from hidet.graph.data_sizes import DataSize, Relation
from hidet.graph.operator import OPERATORS, flattened, operand_names
from hidet.graph.tensor import Node, Tensor, moved, spelled_device
from hidet.ir.expr import Expr, Var
from hidet.ir.stored import Reader, Writer
from hidet.runtime.plans.plan import Limits, is_range
from hidet.types import TensorType, dtype

if TYPE_CHECKING:
    from hidet.graph.flow import FlowGraph

FORMAT = 1
KEY = "hidet.graph"
Parts = tuple[list[Tensor], list[Tensor], str, dict[str, Limits], list[AxisGuard], list[DataSize]]
"""Inputs, outputs, name, limits of sizes, guards and data-dependent sizes of a graph."""
DAMAGE = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError,
    AssertionError, SafetensorError, HidetError,
)  # fmt: skip
"""What reading a file raises that is not what it should be."""


def stored(graph: FlowGraph) -> bytes:
    """The file of a graph; BadArgument if a framework has to compute a part of it."""
    writer = Writer()
    facts = {
        "format": FORMAT,
        **spread(graph, writer),
        "sizes": writer.table,
        "limits": graph.limits,
        "guards": [
            [each.number(graph.inputs), each.axis, each.symbol, writer.value(each.place)]
            for each in graph.guards
        ],
    }
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"))
    values = {str(len(graph.inputs) + at): raw(each) for at, each in enumerate(graph.constants)}
    return save_tensors(values, {KEY: f"{digest(text, values)}\n{text}"})


def spread(graph: FlowGraph, writer: Writer) -> dict[str, Any]:
    """A graph without the values of its constants."""
    numbers = {each: number for number, each in enumerate((*graph.inputs, *graph.constants))}
    nodes = []
    for node in graph.nodes:
        nodes.append(written(node, numbers, writer))
        numbers |= {each: len(numbers) + at for at, each in enumerate(node.outputs)}
    return {
        "name": graph.name,
        "inputs": [described(each, writer) for each in graph.inputs],
        "constants": [described(each, writer) for each in graph.constants],
        "nodes": nodes,
        "outputs": [numbers[each] for each in graph.outputs],
        "told": [
            [
                writer.value(each.size),
                *each.limits,
                writer.value(each.place),
                writer.value(each.equals),
                [[writer.value(one.left), one.sign, writer.value(one.right)] for one in each.holds],
            ]
            for each in graph.data_sizes
        ],
    }


def written(node: Node, numbers: Mapping[Tensor, int], writer: Writer) -> dict[str, Any]:
    """One node."""
    if node.op.kind == "framework":
        raise BadArgument(
            f"{node.op!r} runs in a framework, which no file can hold",
            place=node.place,
            help="save the compiled model's graphs that stay here, or replace the operator",
        )
    return {
        "op": node.op.name,
        "operands": node.op.arrange([numbers[each] for each in node.inputs]),
        "attributes": {n: attribute(v, writer) for n, v in node.op.attributes().items()},
        "device": node.device,
        "names": [each.name for each in node.outputs],
        "place": writer.value(node.place),
    }


def attribute(value: Any, writer: Writer) -> Any:
    """An attribute's value; that of control flow holds graphs."""
    match value:
        case Body(graph=graph):
            return ["body", spread(graph, writer)]
        case tuple():
            return ["tuple", *(attribute(each, writer) for each in value)]
    return writer.value(value)


def described(tensor: Tensor, writer: Writer) -> dict[str, Any]:
    """An input or a constant, without its values."""
    return {
        "dtype": tensor.dtype.name,
        "shape": [writer.value(size) for size in tensor.shape],
        "device": tensor.device,
        "name": tensor.name,
    }


def raw(tensor: Tensor) -> np.ndarray[Any, Any]:
    """A constant's values as bytes: safetensors has not all of our types."""
    return np.ascontiguousarray(tensor.cpu().numpy()).reshape(-1).view(np.uint8)


def digest(text: str, values: Mapping[str, np.ndarray[Any, Any]]) -> str:
    """The hash of all that a file says."""
    found = hashlib.sha256(text.encode())
    for name in sorted(values):
        found.update(f"\n{name} {values[name].nbytes}\n".encode())
        found.update(np.ascontiguousarray(values[name]).data)
    return found.hexdigest()


def restored(
    content: bytes, where: str, device: str | None, make: Callable[..., FlowGraph]
) -> Parts:
    """What a file says, all of it on `device` if one is named; BadArchive tells what is wrong.

    `make` makes the graphs of bodies: it is FlowGraph, which knows this module.
    """
    seams.call("load_operators")
    try:
        return Restoring(*unpacked(content, where), device, make).parts()
    except BadArchive:
        raise
    except DAMAGE as error:
        said = error.message if isinstance(error, HidetError) else error
        raise BadArchive(
            f"{where} is no graph of hidet, or a damaged one: {said}",
            help="`FlowGraph.save` writes graphs; what `CompiledGraph.save` wrote, "
            "`hidet.load` reads",
        ) from error


def unpacked(content: bytes, where: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The description and the bytes of the constants, as they were when they were written."""
    values = load_tensors(content)
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size]).get("__metadata__") or {}
    if KEY not in header:
        raise BadArchive(
            f"{where} holds tensors, but no graph", help="write it with FlowGraph.save"
        )
    was, _, text = header[KEY].partition("\n")
    if digest(text, values) != was:
        raise BadArchive(f"{where} was altered since it was written")
    facts = json.loads(text)
    if facts["format"] != FORMAT:
        raise BadArchive(f"{where} has format {facts['format']}; this hidet reads {FORMAT}")
    return facts, values


class Restoring:
    """Makes the tensors of a graph again, one after another."""

    def __init__(
        self,
        facts: dict[str, Any],
        values: dict[str, Any],
        device: str | None,
        make: Callable[..., FlowGraph],
        outer: Restoring | None = None,
    ) -> None:
        self.facts, self.values, self.make = facts, values, make
        self.device = None if device is None else spelled_device(device)
        self.depth: int = 0 if outer is None else outer.depth + 1
        if self.depth > MAX_DEPTH:
            raise ValueError(f"control flow of more than {MAX_DEPTH} levels")
        self.reader: Reader = Reader() if outer is None else outer.reader
        for name, *rest in facts["sizes"] if outer is None else ():
            self.reader.add(name, rest)
        self.tensors: list[Tensor] = []

    def parts(self) -> Parts:
        """What a graph is made of."""
        inputs = [self.open(each) for each in self.facts["inputs"]]
        self.tensors += inputs
        for each in self.facts["constants"]:
            self.tensors.append(self.constant(each))
        for each in self.facts["nodes"]:
            self.tensors += self.node(each).outputs
        outputs = [self.tensor(each) for each in self.facts["outputs"]]
        name, data_sizes = text(self.facts["name"]), self.data_sizes(len(outputs))
        return inputs, outputs, name, self.limits(inputs), self.guards(inputs), data_sizes

    def data_sizes(self, outputs: int) -> list[DataSize]:
        """The sizes that the last outputs tell; older files say nothing of it."""
        found = []
        for size, low, high, place, same, *more in self.facts.get("told", []):
            var, where, equals = map(self.reader.value, (size, place, same))
            numbers = fits(low, int) and (high is None or fits(high, int))
            if not (isinstance(var, Var) and numbers and is_range(low, high)):
                raise ValueError(f"a size {var} of {low} to {high}")
            if not (fits(where, Place | None) and fits(equals, Expr | int | None)):
                raise ValueError(f"a size {var} that is {equals} at {where}")
            holds = tuple(map(self.relation, more[0] if more else ()))
            found.append(DataSize(var, (low, high), where, equals=equals, holds=holds))
        if len(found) > outputs:
            raise ValueError(f"{outputs} outputs tell {len(found)} sizes")
        return found

    def relation(self, fact: Any) -> Relation:
        """What has to hold of sizes."""
        left, sign, right = fact
        sides = self.reader.value(left), self.reader.value(right)
        if sign not in ("<=", "==") or not all(fits(each, Expr | int) for each in sides):
            raise ValueError(f"sizes of which {sign} holds")
        return Relation(sides[0], sign, sides[1])

    def guards(self, inputs: list[Tensor]) -> list[AxisGuard]:
        """Why axes of inputs have the sizes they have; older files say nothing of it."""
        found = []
        for number, axis, symbol, place in self.facts.get("guards", []):
            where = self.reader.value(place)
            if not (fits(number, int) and fits(axis, int) and fits(where, Place | None)):
                raise ValueError(f"a guard of axis {axis} of input {number} at {where}")
            if not (0 <= number < len(inputs) and 0 <= axis < inputs[number].ndim):
                raise ValueError(f"a guard of axis {axis} of input {number}")
            found.append(AxisGuard(inputs[number], axis, text(symbol), where))
        return found

    def limits(self, inputs: list[Tensor]) -> dict[str, Limits]:
        """What sizes may be; files that were written before this was kept say nothing of it."""
        sizes = (size for each in inputs for size in each.shape)
        symbols = {size.name for size in sizes if isinstance(size, Var)}
        found: dict[str, Limits] = {}
        for name, (low, high) in self.facts.get("limits", {}).items():
            numbers = fits(low, int) and (high is None or fits(high, int))
            if not (name in symbols and numbers and is_range(low, high)):
                raise ValueError(f"a size {name!r} of {low} to {high}")
            found[name] = low, high
        return found

    def open(self, fact: dict[str, Any]) -> Tensor:
        """An input."""
        shape = tuple(map(self.reader.value, fact["shape"]))
        if not all(isinstance(size, Expr) or (fits(size, int) and size >= 0) for size in shape):
            raise ValueError(f"{fact['shape']} is no shape")
        of = TensorType(dtype(text(fact["dtype"])), shape)
        return Tensor(of, self.where(fact["device"]), name=text(fact["name"]))

    def constant(self, fact: dict[str, Any]) -> Tensor:
        """A tensor with its values."""
        made = self.open(fact)
        shape = [int(size) for size in made.shape if isinstance(size, int)]
        value = self.values[str(len(self.tensors))].view(made.dtype.numpy).reshape(shape)
        if shape != list(made.shape):
            raise ValueError(f"a constant of shape {made.shape}")
        return moved(Tensor(made.type, "cpu", value, name=made.name), made.device)

    def node(self, fact: dict[str, Any]) -> Node:
        """A node; its results' types follow from its operands'."""
        name = text(fact["op"])
        if name not in OPERATORS:
            raise BadArchive(
                f"the graph uses an operator {name!r}, which is not known here",
                help="import the package that declares it first",
            )
        kind: Any = OPERATORS[name]
        operands = [self.operand(each) for each in fact["operands"]]
        values = {n: self.attribute(v) for n, v in fact["attributes"].items()}
        op = kind(*map(types_of, operands), **checked(kind, values))
        place = self.reader.value(fact["place"])
        if not fits(place, Place | None):
            raise ValueError(f"{place} is no place")
        inputs = tuple(flattened(tuple(operands)))
        node = Node(op, inputs, place, self.where(fact["device"]))
        for each, called in zip(node.outputs, fact["names"], strict=True):
            each.name = text(called)
        return node

    def attribute(self, data: Any) -> Any:
        """An attribute's value; that of control flow holds graphs without constants."""
        match data:
            case ["body", dict() as facts]:
                inner = Restoring(facts, {}, self.device, self.make, self)
                inputs, outputs, name, _, _, data_sizes = inner.parts()
                return Body(self.make(inputs, outputs, name, data_sizes=data_sizes))
            case ["tuple", *rest]:
                return tuple(map(self.attribute, rest))
        return self.reader.value(data)

    def operand(self, fact: Any) -> Any:
        """A tensor that was made before, several, or none."""
        if isinstance(fact, list):
            return tuple(map(self.tensor, fact))
        return None if fact is None else self.tensor(fact)

    def tensor(self, number: Any) -> Tensor:
        """The tensor of a number."""
        if not fits(number, int) or not 0 <= number < len(self.tensors):
            raise ValueError(f"there is no tensor {number!r} of {len(self.tensors)}")
        found: Tensor = self.tensors[number]
        return found

    def where(self, device: Any) -> str:
        """The device that is asked for, or that of the file."""
        return self.device or spelled_device(text(device))


def types_of(operand: Any) -> Any:
    """The type of an operand, of each of several, or None."""
    if isinstance(operand, tuple):
        return tuple(map(types_of, operand))
    return None if operand is None else operand.type


def checked(kind: Any, values: dict[str, Any]) -> dict[str, Any]:
    """The attributes of an operator, if they are all there and of the types it declares."""
    hints = declared(kind)
    if set(values) != set(hints):
        raise ValueError(f"{kind.name} has other attributes than {sorted(values)}")
    for name, value in values.items():
        if not fits(value, hints[name]):
            raise ValueError(f"{kind.name} has no {name} such as {value!r}")
    return values


@cache
def declared(kind: Any) -> dict[str, Any]:
    """The declared types of an operator's attributes."""
    hints, operands = get_type_hints(kind), operand_names(kind)
    return {f.name: hints[f.name] for f in fields(kind) if f.name not in operands}


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of a declared type; a bool is no int, an int may be a float."""
    match get_origin(hint):
        case None:
            kinds = {float: (float, int), NoneType: (NoneType,), None: (NoneType,)}
            found = isinstance(value, kinds.get(hint, (hint,)))
            return found and (hint is bool or not isinstance(value, bool))
        case origin if origin is Literal:
            return any(value == each and type(value) is type(each) for each in get_args(hint))
        case origin if origin is tuple:
            return isinstance(value, tuple) and all_fit(value, get_args(hint))
        case _:
            return any(fits(value, each) for each in get_args(hint))


def all_fit(values: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    """Whether each of a tuple's values is of its declared type."""
    if len(hints) == 2 and hints[1] is Ellipsis:
        return all(fits(each, hints[0]) for each in values)
    return len(values) == len(hints) and all(map(fits, values, hints))


def text(value: Any) -> str:
    """A string that is one."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value
