"""Values of the import as ONNX types, for onnx's own inference of one node, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, TypeProto, helper, numpy_helper

from hidet.compute.guards import known_late
from hidet.errors import NotYet
from hidet.frontend.running.host_values import HostValue
from hidet.graph import Tensor
from hidet.graph.known import known
from hidet.ir.expr import Var
from hidet.types import Size, TensorType, i32
from hidet_onnx.dtypes import code_of, element, is_text


class Types:
    """ONNX types of values; a symbolic size is a name in them, and found again by it."""

    def __init__(self) -> None:
        self.sizes: dict[str, Size] = {}

    def of(self, value: Any) -> TypeProto:
        """The type of a value; an empty one of what is not there."""
        if isinstance(value, Tensor):
            return helper.make_tensor_type_proto(code_of(value.dtype), self.shape(value.shape))
        if isinstance(value, HostValue):
            found: TypeProto = value.type
            return found
        if isinstance(value, np.ndarray):
            return helper.make_tensor_type_proto(TensorProto.STRING, value.shape)
        if isinstance(value, list) and value:
            return helper.make_sequence_type_proto(self.of(value[0]))
        return TypeProto()

    def shape(self, sizes: Sequence[Size]) -> list[int | str]:
        """A shape in which names stand for symbolic sizes."""
        return [size if isinstance(size, int) else self.name(size) for size in sizes]

    def name(self, size: Size) -> str:
        """The name of a symbolic size."""
        name = str(size)
        self.sizes.setdefault(name, size)
        return name

    def tensor(self, type: TypeProto) -> TensorType | None:
        """Our type for one that onnx inferred; None if sizes are not said, or it is no tensor."""
        if type.WhichOneof("value") != "tensor_type" or not type.tensor_type.HasField("shape"):
            return None
        shape: list[Size] = []
        for each in type.tensor_type.shape.dim:
            if each.WhichOneof("value") == "dim_value":
                shape.append(each.dim_value)
            elif each.dim_param in self.sizes:
                shape.append(self.sizes[each.dim_param])
            else:
                return None
        try:
            return TensorType(element(type.tensor_type.elem_type), tuple(shape))
        except NotYet:
            return None

    def result(self, type: TypeProto, name: str, device: str) -> Tensor | HostValue | None:
        """What stands for a result of the host: a tensor whose sizes may be known at a call only,
        or a value of the host; None for a tensor of which not even the rank is said."""
        tensor = type.tensor_type
        if type.WhichOneof("value") != "tensor_type" or is_text(tensor.elem_type):
            return HostValue(type, name)
        if not tensor.HasField("shape"):
            return None
        shape = [self.size(each, f"{name}.{axis}") for axis, each in enumerate(tensor.shape.dim)]
        return Tensor(TensorType(element(tensor.elem_type), tuple(shape)), device, name=name)

    def size(self, size: Any, name: str) -> Size:
        """A size of a result: known, that of an operand, or a new one of this name."""
        if size.WhichOneof("value") == "dim_value":
            return int(size.dim_value)
        known = self.sizes.get(size.dim_param)
        return known_late(Var(name, i32)) if known is None else known


def array_known(value: Any) -> np.ndarray[Any, Any] | None:
    """The values of an operand, if they are known while importing."""
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, Tensor):
        return None
    if value.storage is not None:
        return np.asarray(value.cpu().numpy())
    elements = known(value)
    numbers = int | float | bool
    if elements is None or not all(isinstance(each, numbers) for each in elements.flat):
        return None
    return elements.astype(value.dtype.numpy)


def tensor_known(value: Any) -> TensorProto | None:
    """The same as a message, of few elements."""
    array = array_known(value)
    if array is None or array.size > SMALL:
        return None
    return numpy_helper.from_array(array)


SMALL = 1024
"""Elements of a tensor that onnx's inference may look at."""
