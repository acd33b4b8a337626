"""Rotary embedding in ONNX Runtime's own domain."""

from __future__ import annotations

from hidet import ops
from hidet.errors import NotYet
from hidet.graph import Tensor
from hidet.types import Size, i64
from hidet_onnx.converters.attention import rotary_embedding
from hidet_onnx.converters.table import microsoft


@microsoft("RotaryEmbedding")
def rotary_embedding_of_rows(
    x: Tensor, position_ids: Tensor, cos: Tensor, sin: Tensor, *, interleaved: int = 0,
    is_packed_batching: int = 0, num_heads: int = 0, rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Tensor:  # fmt: skip
    """Pairs of elements turned by the angle of their row's position, or of the first row's."""
    if is_packed_batching:
        raise NotYet("rotary embedding of samples packed together")
    if scale != 1:
        raise NotYet("rotary embedding with a scale")
    where = positions(position_ids, x.shape[1] if x.ndim == 3 else x.shape[2])
    count = num_heads
    if x.ndim == 3 and not count:
        size = cos.shape[-1] * 2
        width = x.shape[-1]
        if not isinstance(width, int) or not isinstance(size, int):
            raise NotYet("rotary embedding of heads of unknown size")
        count = width // size
    return rotary_embedding(
        x, cos, sin, where, interleaved=interleaved, num_heads=count or None,
        rotary_embedding_dim=rotary_embedding_dim,
    )  # fmt: skip


def positions(given: Tensor, rows: Size) -> Tensor:
    """The position of each row: as given, or from one number on."""
    if given.ndim == 2:
        return given
    start = ops.reshape(ops.cast(given, i64), (1, 1))
    return ops.add(start, ops.reshape(ops.iota(rows, device=given.device), (1, -1)))
