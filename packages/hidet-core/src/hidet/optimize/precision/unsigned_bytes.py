"""Signed bytes with a zero point are unsigned ones, where they are only dequantized again."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.graph.apply import apply, placed, tracing
from hidet.graph.flow import FlowGraph
from hidet.graph.rewrite import rewrite_from
from hidet.graph.tensor import Node, Tensor
from hidet.ops.quantized.integer_matmul import SIGN, number_of
from hidet.ops.quantized.quantize import Dequantize, Quantize
from hidet.optimize.constants import Readers
from hidet.types import i8, u8


def unsigned_bytes(graph: FlowGraph) -> FlowGraph:
    """Quantize to unsigned bytes what is quantized to signed ones with a zero point.

    before   y = dequantize(quantize(x, s, -128: int8), s, -128: int8)
    after    y = dequantize(quantize(x, s, 0: uint8), s, 0: uint8)

    Every real number stays as it was. What a ReLU gives has its zero point at the lowest byte:
    unsigned ones need none, so that products lose nothing to it and padding is zeros. Bytes whose
    zero point is 0 are moved on CPUs, which multiply unsigned by signed bytes, and stay on GPUs;
    those that anything else reads stay.
    """
    readers = Readers(graph)
    made: dict[Tensor, Tensor] = {}

    def change(original: Node, node: Node) -> Sequence[Tensor] | None:
        source = original.inputs[0] if isinstance(node.op, Dequantize) else None
        if source is None or not is_moved(source, readers):
            return None
        with tracing(), placed(node.place):
            if source not in made:
                made[source] = quantized(node.inputs[0])
            _, scale, _ = node.op.arrange(node.inputs)
            zero = unsigned(point(node) or 0, scale)
            dtype = node.outputs[0].dtype
            return (apply(Dequantize, made[source], scale, zero, dtype=dtype),)

    return rewrite_from(graph, change)


def is_moved(bytes_: Tensor, readers: Readers) -> bool:
    """Whether a tensor is of signed bytes about a known number, of a GPU about one that is not 0,
    and whoever reads them dequantizes them about such a number."""
    maker = bytes_.trace[0] if bytes_.trace is not None else None
    if maker is None or not isinstance(maker.op, Quantize) or bytes_.dtype is not i8:
        return False
    zero, users = point(maker), readers.of(bytes_)
    gains = zero is not None and (zero != 0 or bytes_.device == "cpu")
    return (
        bool(users)
        and gains
        and all(
            isinstance(each.op, Dequantize) and each.inputs[0] is bytes_ and point(each) is not None
            for each in users
        )
    )


def point(node: Node) -> int | None:
    """The zero point of a node that quantizes or dequantizes, where it is one known number."""
    zero = node.op.arrange(node.inputs)[2]
    return 0 if zero is None else number_of(zero)


def quantized(bytes_: Tensor) -> Tensor:
    """The unsigned bytes that stand for signed ones."""
    assert bytes_.trace is not None
    maker = bytes_.trace[0]
    x, scale, _ = maker.op.arrange(maker.inputs)
    return apply(Quantize, x, scale, unsigned(point(maker) or 0, scale), dtype=u8)


def unsigned(zero: int, like: Tensor) -> Tensor:
    """The zero point of unsigned bytes that stand for signed ones."""
    return ops.full((), zero + SIGN, u8, device=like.device)
