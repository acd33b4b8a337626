"""Types of a model's inputs and results, as its file declares them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from onnx import TypeProto, ValueInfoProto

from hidet.errors import BadArgument
from hidet.frontend.importing.limits import Limits
from hidet.ir.expr import Var
from hidet.types import DType, Size, i32
from hidet_onnx.dtypes import element, is_text, spelled


@dataclass(frozen=True)
class Declared:
    """What a file says of one input or result.

    `kind` is "tensor", "sequence", "optional" or "map". `code` is ONNX's number of the element type
    and `shape` the sizes, each a number, a name or None (nothing is said); None where even the rank
    is not said. One that `has_default` has an initialiser's value unless a call gives another.
    """

    name: str
    kind: str
    code: int
    shape: tuple[int | str | None, ...] | None
    has_default: bool = False
    is_item: bool = False
    proto: TypeProto | None = field(default=None, compare=False)
    """The type of a map as the file has it."""

    def item(self) -> Declared:
        """What is declared of the elements of a sequence, or of what may be absent."""
        return replace(self, is_item=True)

    def element(self) -> Declared:
        """What holds for one element of a list: each has sizes of its own, whatever their name."""
        sizes = self.shape and tuple(size if isinstance(size, int) else None for size in self.shape)
        return replace(self, shape=sizes)

    @property
    def is_text(self) -> bool:
        """Whether its elements are strings."""
        return is_text(self.code)

    @property
    def is_plain(self) -> bool:
        """Whether it is a tensor whose rank is declared, or a map."""
        return self.kind == "map" or (self.kind == "tensor" and self.shape is not None)

    @property
    def dtype(self) -> DType:
        """The element type; NotYet for one that the compiler lacks."""
        return element(self.code)

    def __str__(self) -> str:
        shape = (
            "..."
            if self.shape is None
            else ", ".join("?" if size is None else str(size) for size in self.shape)
        )
        tensor = f"{spelled(self.code).lower()}[{shape}]"
        return f"{self.name}: " + (tensor if self.kind == "tensor" else f"{self.kind} of {tensor}")


def declared(value: ValueInfoProto, limits: Limits) -> Declared:
    """What the file says of one input or result."""
    return typed(value.name, value.type, limits)


def typed(name: str, type: TypeProto, limits: Limits) -> Declared:
    """The type of a value; of its elements, if it is a sequence or optional."""
    kind = type.WhichOneof("value")
    if kind == "tensor_type":
        tensor = type.tensor_type
        shape = sizes(name, tensor, limits) if tensor.HasField("shape") else None
        return Declared(name, "tensor", tensor.elem_type, shape)
    if kind in ("sequence_type", "optional_type"):
        inner = typed(name, getattr(type, kind).elem_type, limits)
        return Declared(name, kind.removesuffix("_type"), inner.code, inner.shape)
    if kind == "map_type":
        code = type.map_type.value_type.tensor_type.elem_type
        return Declared(name, "map", code, None, proto=type)
    raise BadArgument(f"the model does not say of what type {name!r} is")


def sizes(name: str, tensor: TypeProto.Tensor, limits: Limits) -> tuple[int | str | None, ...]:
    """The declared sizes; BadArgument for a negative one."""
    found: list[int | str | None] = []
    for axis, dimension in enumerate(tensor.shape.dim):
        kind = dimension.WhichOneof("value")
        if kind == "dim_value" and dimension.dim_value < 0:
            raise BadArgument(f"axis {axis} of {name!r} has the size {dimension.dim_value}")
        found.append(
            getattr(dimension, kind) or None
            if kind == "dim_param"
            else dimension.dim_value
            if kind
            else None
        )
    limits.require_shape([size for size in found if isinstance(size, int)])
    return tuple(found)


class Symbols:
    """The dynamic sizes, by name: one name is one size in the whole model."""

    def __init__(self) -> None:
        self.known: dict[str, Var] = {}

    def shape(self, name: str, sizes: Sequence[int | str | None]) -> tuple[Size, ...]:
        """A shape with its symbols; a size without a name is called after input and axis."""
        return tuple(
            size if isinstance(size, int) else self.size(size or f"{name}.{axis}")
            for axis, size in enumerate(sizes)
        )

    def size(self, name: str) -> Var:
        """The symbol of that name."""
        return self.known.setdefault(name, Var(name, i32))
