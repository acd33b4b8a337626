"""Labels of classes, which may be strings: then the host looks them up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnx import TensorProto, helper

from hidet import ops
from hidet.errors import BadArgument
from hidet.frontend.running.host_values import HostFunction, HostValue
from hidet.graph import Tensor
from hidet.types import i64
from hidet_onnx.converters.here import here
from hidet_onnx.converters.known import constant
from hidet_onnx.host.strings import as_texts


def labelled(
    place: Tensor, numbers: Sequence[int] | None, strings: Sequence[str] | None
) -> Tensor | HostValue:
    """The label of the class that each element of `place` is the number of."""
    if numbers:
        return ops.take(constant(numbers, i64), [place])
    if not strings:
        raise BadArgument("a classifier without labels")
    return texts_at(place, strings)


def texts_at(place: Tensor, strings: Sequence[str]) -> HostValue:
    """The string of which each element of `place` is the number."""
    table = as_texts(strings)
    declared = helper.make_tensor_type_proto(TensorProto.STRING, [None] * place.ndim)
    result = HostValue(declared, "labels")

    def look_up(numbers: Any) -> list[Any]:
        return [table[numbers]]

    here().on_host(HostFunction("labels", look_up, (place,), (result,)))
    return result
