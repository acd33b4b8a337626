"""Kernels as text and back: JSON, so that the simulator's kernels can lie in an archive.

A program is a list of kernels and a table of nodes, each its class and its fields, children before
parents. What is read is checked to be nodes of ours; it is never executed as Python.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from hidet.errors import BadArchive, InternalError, Place
from hidet.ir.kernel import Kernel, KernelKind, PdlTrigger
from hidet.ir.node import Node
from hidet.ir.stmt import LoopKind
from hidet.ir.walk import postorder
from hidet.types import DType, PointerType, Scope, TensorType, VectorType, dtype
from hidet.types.tensor_map import Im2col, TensorMapType, Tile

RECORDS: dict[str, type[Any]] = {
    each.__name__: each
    for each in (VectorType, PointerType, TensorType, TensorMapType, Tile, Im2col, Place)
}
"""Dataclasses that fields hold, beside nodes."""
NAMES: dict[str, type[StrEnum]] = {
    each.__name__: each for each in (LoopKind, KernelKind, PdlTrigger, Scope)
}
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What reading a text raises that is not what it should be."""


def stored(kernels: Sequence[Kernel]) -> str:
    """Lowered kernels as text; `InternalError` for what only kernels before lowering have."""
    writer = Writer()
    numbers = [writer.node(kernel) for kernel in kernels]
    return json.dumps({"kernels": numbers, "nodes": writer.table}, separators=(",", ":"))


def restored(text: str | bytes) -> list[Kernel]:
    """The kernels in a text; `BadArchive` if it is no such text."""
    try:
        data = json.loads(text)
        reader = Reader()
        for name, *fields in data["nodes"]:
            reader.add(name, fields)
        found = [reader.made[number] for number in data["kernels"]]
    except DAMAGE as error:
        raise BadArchive(f"a simulated program cannot be read: {error}") from error
    kernels = [each for each in found if isinstance(each, Kernel)]
    if len(kernels) != len(found):
        raise BadArchive("a simulated program holds something else than kernels")
    return kernels


class Writer:
    """Numbers nodes as they are written down."""

    def __init__(self) -> None:
        self.table: list[Any] = []
        self.numbers: dict[Node, int] = {}

    def node(self, root: Node) -> int:
        """The number of a node; it and all below it are in the table."""
        if root in self.numbers:
            return self.numbers[root]
        for node in postorder(root):
            if node not in self.numbers:
                fields = [self.value(getattr(node, name)) for name in node.field_names]
                self.numbers[node] = len(self.table)
                self.table.append([type(node).__name__, *fields])
        return self.numbers[root]

    def value(self, value: Any) -> Any:
        """A field's value as JSON."""
        match value:
            case StrEnum():
                return ["name", type(value).__name__, str(value)]
            case None | bool() | int() | str():
                return value
            case float():
                return ["float", value.hex()]
            case tuple():
                return ["tuple", *map(self.value, value)]
            case Node():
                return ["node", self.node(value)]
            case DType():
                return ["dtype", value.name]
        name = type(value).__name__
        if RECORDS.get(name) is not type(value):
            raise InternalError(f"a {name} is in a kernel that is to be stored: {value}")
        slots: Mapping[str, Any] = type(value).__dataclass_fields__
        return ["record", name, *(self.value(getattr(value, slot)) for slot in slots)]


class Reader:
    """Makes nodes from the table."""

    def __init__(self) -> None:
        self.made: list[Node] = []
        self.classes = {each.__name__: each for each in node_classes(Node)}

    def add(self, name: str, fields: list[Any]) -> None:
        """The next node of the table."""
        self.made.append(self.classes[name](*map(self.value, fields)))

    def value(self, data: Any) -> Any:
        """A field's value."""
        if not isinstance(data, list):
            return data
        kind, *rest = data
        match kind:
            case "node":
                return self.made[rest[0]]
            case "tuple":
                return tuple(map(self.value, rest))
            case "float":
                return float.fromhex(rest[0])
            case "dtype":
                return dtype(rest[0])
            case "name":
                return NAMES[rest[0]](rest[1])
            case "record":
                return RECORDS[rest[0]](*map(self.value, rest[1:]))
        raise ValueError(f"there is no kind of value {kind!r}")


def node_classes(root: type[Node]) -> list[type[Node]]:
    """All classes of nodes."""
    return [each for below in root.__subclasses__() for each in (below, *node_classes(below))]
