"""The inverse of max pooling: elements put back where they were found."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.compute.sizes import product, same_shape
from hidet.errors import ShapeMismatch
from hidet.graph import Tensor
from hidet.ops.indexing.scatter import scatter
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.create import full
from hidet.ops.tensors.shape import reshape
from hidet.types import Size, i64


def max_unpool(x: Tensor, indices: Tensor, size: Sequence[Size]) -> Tensor:
    """[n, c, *size] with the elements of x[n, c, ...] at `indices` of their planes, 0 elsewhere.

    The integer `indices`, of the shape of `x`, count within the plane [*size] as those of
    `max_pool_with_indices`, or within the whole tensor as ONNX's (MaxUnpool-22): planes before the
    element's own one are left out. Of several elements for one position the last one stays.
    """
    if not same_shape(x.shape, indices.shape) or x.ndim != len(size) + 2:
        raise ShapeMismatch(
            f"max_unpool of {x.type} at {indices.type} to a plane of {len(size)} axes"
        )
    planes, places = product(x.shape[:2]), product(x.shape[2:])
    where = reshape(cast(indices, i64), (planes, places)) % product(size)
    empty = full((planes, product(size)), 0, x.dtype, device=x.device)
    found = scatter(empty, 1, where, reshape(x, (planes, places)))
    return reshape(found, (*x.shape[:2], *size))
