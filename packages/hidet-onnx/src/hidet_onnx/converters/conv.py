"""Convolutions and their transposes."""

from __future__ import annotations

from collections.abc import Sequence

from hidet import ops
from hidet.compute.sizes import Shape, tidy
from hidet.errors import BadArgument
from hidet.graph import Tensor
from hidet.types import Size
from hidet_onnx.converters.table import onnx
from hidet_onnx.converters.windows import each, explicit, padding


@onnx("Conv", since=1)
def conv(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None, group: int = 1,
    kernel_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """The convolution of x[n, c, ...] with weight[k, c / group, ...], plus bias[k]."""
    rank = x.ndim - 2
    steps, apart = each(strides, rank), each(dilations, rank)
    require_kernel(weight, kernel_shape)
    sides = padding(auto_pad, pads, x.shape[2:], weight.shape[2:], steps, apart)
    return ops.conv(x, weight, bias, stride=steps, padding=sides, dilation=apart, groups=group)


def require_kernel(weight: Tensor, said: Sequence[int] | None) -> None:
    """Raise if the weight is of another shape than the model says."""
    if said and tuple(said) != weight.shape[2:]:
        raise BadArgument(f"kernel_shape is {list(said)}, the weight's {list(weight.shape[2:])}")


@onnx("ConvTranspose", since=1)
def conv_transpose(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None, group: int = 1,
    kernel_shape: Sequence[int] | None = None, output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None, pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """The gradient of a convolution for its input x[n, c, ...], with weight[c, k / group, ...]."""
    rank = x.ndim - 2
    steps, apart = each(strides, rank), each(dilations, rank)
    require_kernel(weight, kernel_shape)
    more = tuple(output_padding or (0,) * rank)
    found = ops.conv_transpose(x, weight, stride=steps, dilation=apart, groups=group)
    if output_shape:
        wanted: Shape | None = tuple(output_shape[-rank:])
    elif auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        wanted = tuple(tidy(size * step) for size, step in zip(x.shape[2:], steps, strict=True))
    else:
        wanted = None
    if wanted is None:
        cut: list[tuple[Size, Size]] = [
            (-before, extra - after)
            for (before, after), extra in zip(explicit(pads, rank), more, strict=True)
        ]
    else:
        cut = centred(found.shape[2:], wanted, more, auto_pad)
    found = ops.pad(found, [(0, 0), (0, 0), *cut])
    if bias is None:
        return found
    return ops.add(found, ops.reshape(bias, (-1, *(1,) * rank)))


def centred(
    sizes: Shape, wanted: Shape, more: Sequence[int], auto_pad: str
) -> list[tuple[Size, Size]]:
    """What each side gains, so that axes get the sizes wanted; SAME_UPPER cuts more at the end."""
    found: list[tuple[Size, Size]] = []
    for size, target, extra in zip(sizes, wanted, more, strict=True):
        cut = tidy(size + extra - target)
        half = cut // 2 if auto_pad == "SAME_UPPER" else tidy(cut - cut // 2)
        found.append((tidy(-half), tidy(extra - (cut - half))))
    return found
