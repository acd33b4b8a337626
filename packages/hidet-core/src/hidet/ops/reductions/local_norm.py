"""Local response normalisation: over neighbouring channels."""

from __future__ import annotations

from hidet.errors import BadArgument, ShapeMismatch
from hidet.graph import Tensor
from hidet.ops.elementwise.binary import pow
from hidet.ops.elementwise.unary import square
from hidet.ops.reductions.reduce import sum as total
from hidet.ops.tensors.cast import cast
from hidet.ops.tensors.pad import pad
from hidet.ops.tensors.strided import sliding
from hidet.types import f32, f64


def local_response_norm(
    x: Tensor, size: int, *, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0,
    before: int | None = None,
) -> Tensor:  # fmt: skip
    """x[n, c, ...] over (bias + alpha / size · the sum of `size` channels' squares) ** beta.

    The channels are `before` (None: (size - 1) // 2, as ONNX has it; torch: size // 2) of those in
    front of the element's own one, that one, and those after it; there are zeros beyond the ends.
    Source: Krizhevsky et al. 2012, section 3.3.
    """
    if x.ndim < 2:
        raise ShapeMismatch(f"local_response_norm takes [n, c, ...], not {x.type}")
    if size < 1:
        raise BadArgument(f"a window of {size} channels")
    front = (size - 1) // 2 if before is None else before
    wide = cast(x, x.dtype if x.dtype is f64 else f32)
    widths = [(front, size - 1 - front) if axis == 1 else (0, 0) for axis in range(x.ndim)]
    squares = total(sliding(pad(square(wide), widths), 1, size, 1), -1)
    return cast(wide / pow(squares * (alpha / size) + bias, beta), x.dtype)
