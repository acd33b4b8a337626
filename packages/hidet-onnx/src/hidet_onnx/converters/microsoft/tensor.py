"""Shapes, elements and transforms: most are what a standard operator became later."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.errors import BadArgument, NotYet
from hidet.frontend.importing.operands import integer, integers
from hidet.graph import Tensor
from hidet_onnx.converters.conv import conv_transpose
from hidet_onnx.converters.create import range_of
from hidet_onnx.converters.index import gather_nd
from hidet_onnx.converters.known import constant
from hidet_onnx.converters.resample import grid_sample
from hidet_onnx.converters.shape import pad as standard_pad
from hidet_onnx.converters.shape import trilu
from hidet_onnx.converters.table import microsoft

microsoft.rows(
    {"GatherND": gather_nd, "GridSample": grid_sample, "Inverse": ops.inverse, "Trilu": trilu}
)


@microsoft("ExpandDims")
def expand_dims(x: Tensor, axis: Tensor) -> Tensor:
    """x with one more axis of size 1."""
    return ops.unsqueeze(x, integer(axis))


@microsoft("Pad")
def pad(x: Tensor, pads: Tensor, value: Tensor | None = None, *, mode: str = "constant") -> Tensor:
    """x with elements before and after it; `pads` may be a matrix of one row."""
    return standard_pad(x, ops.reshape(pads, (-1,)), value, mode=mode)


@microsoft("Range")
def range_with_default(start: Tensor, limit: Tensor, delta: Tensor | None = None) -> Tensor:
    """start, start + delta, ... before the limit; delta is 1 by default."""
    return range_of(start, limit, constant(1, start.dtype) if delta is None else delta)


@microsoft("TorchEmbedding")
def torch_embedding(
    weight: Tensor, index: Tensor, padding_index: Tensor | None = None,
    scale_gradient: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """For each element of `index` that row of the weight."""
    return ops.embedding(weight, index)


@microsoft("Unique")
def unique(x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The elements once each as they come, which of them each element is, and how many it is."""
    found, _, number, counts = ops.unique(x, ordered=False)
    return found, number, counts


@microsoft("UnfoldTensor")
def unfold_tensor(x: Tensor, *, dim: int = -1, size: int, step: int = 1) -> Tensor:
    """The windows along an axis, as a new last axis."""
    return ops.sliding(x, dim, size, step)


@microsoft("CDist")
def cdist(a: Tensor, b: Tensor, *, metric: str = "sqeuclidean") -> Tensor:
    """The distance of each row of a from each row of b."""
    if metric not in ("sqeuclidean", "euclidean"):
        raise NotYet(f"the distance {metric!r}")
    apart = ops.subtract(ops.unsqueeze(a, 1), ops.unsqueeze(b, 0))
    found = ops.sum(ops.square(apart), -1)
    return found if metric == "sqeuclidean" else ops.sqrt(found)


@microsoft("ConvTransposeWithDynamicPads")
def conv_transpose_with_dynamic_pads(
    x: Tensor, weight: Tensor, pads: Tensor | None = None, bias: Tensor | None = None, *,
    auto_pad: str = "NOTSET", dilations: Sequence[int] | None = None, group: int = 1,
    kernel_shape: Sequence[int] | None = None, output_padding: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """ConvTranspose whose padding is an operand."""
    return conv_transpose(
        x, weight, bias, auto_pad=auto_pad, dilations=dilations, group=group,
        kernel_shape=kernel_shape, output_padding=output_padding,
        pads=None if pads is None else integers(pads), strides=strides,
    )  # fmt: skip


@microsoft("Rfft")
def rfft(x: Tensor, *, normalized: int = 0, onesided: int = 1, signal_ndim: int = 1) -> Tensor:
    """The Fourier transform of real signals along the last axes: [..., n / 2 + 1, 2]."""
    require_plain(normalized, onesided)
    found = ops.dft(ops.unsqueeze(x, -1), axis=-2, onesided=True)
    for axis in range(1, signal_ndim):
        found = ops.dft(found, axis=-2 - axis)
    return found


@microsoft("Irfft")
def irfft(x: Tensor, *, normalized: int = 0, onesided: int = 1, signal_ndim: int) -> Tensor:
    """The real signals of an even size whose transform x[..., n / 2 + 1, 2] is."""
    require_plain(normalized, onesided)
    for axis in range(1, signal_ndim):
        x = ops.dft(x, axis=-2 - axis, inverse=True)
    return ops.squeeze(ops.dft(x, axis=-2, inverse=True, onesided=True), -1)


def require_plain(normalized: int, onesided: int) -> None:
    """Raise BadArgument for what ONNX Runtime has no transform for."""
    if normalized or not onesided:
        raise BadArgument("a transform of real signals is one-sided and not normalised")


@microsoft("ComplexMul")
def complex_mul(a: Tensor, b: Tensor) -> Tensor:
    """Products of complex numbers, whose parts are the last axis."""
    (p, q), (r, s) = ([ops.select(each, -1, part) for part in (0, 1)] for each in (a, b))
    real = ops.subtract(ops.multiply(p, r), ops.multiply(q, s))
    return ops.stack((real, ops.add(ops.multiply(p, s), ops.multiply(q, r))), -1)


@microsoft("ComplexMulConj")
def complex_mul_conj(a: Tensor, b: Tensor) -> Tensor:
    """Products of complex numbers and the conjugates of others."""
    return complex_mul(a, ops.multiply(b, constant([1, -1], b.dtype)))
