"""Tensor maps: what the host tells the copy engine of a tensor, declared where it is used.

    tiles = tensor_map(x, box=(64, 64), swizzle="128B")

They are no statements: wherever it is written, the map is made before the kernel is launched, of
the tensor that is passed, and handed over beside it. PTX ISA, "Tensors".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hidet.errors import BadScript, at
from hidet.ir.evaluate import evaluate
from hidet.ir.expr import Builtin, Const, Expr, Get, Load, Value, Var, convert
from hidet.ir.kernel import TensorMap
from hidet.ir.walk import find, variables
from hidet.lang.recorder import Recorder, current
from hidet.lang.values import index, is_pointer, is_tensor, plain, spoken
from hidet.types import Im2col, Scope, TensorMapType, TensorType, Tile, i64
from hidet.types.tensor_map import check_strides

Sizes = Sequence[Value]


def tensor_map(
    x: Any,
    box: Sequence[int],
    *,
    steps: Sequence[int] | None = None,
    swizzle: str = "none",
    promotion: str = "128B",
    fill: str = "zeros",
    shape: Sizes | None = None,
    strides: Sizes | None = None,
) -> Any:
    """The map of boxes of `x`, a tensor or pointer among the kernel's parameters.

    `box` is a box as it lies in shared memory, outermost axis first; its elements are `steps`
    apart in the tensor (1 along the last axis). `swizzle` is "none", "32B", "64B" or "128B"
    (`hidet.mapping.tma_swizzle`), `promotion` what the second cache fetches, "none", "64B", "128B"
    or "256B"; elements outside of the tensor are "zeros" or "nan". Memory may be seen in another
    `shape` than the parameter's; `strides` are the elements between neighbours along each axis
    but the last, without gaps by default. PTX ISA, "Tensors", tiled mode.
    """
    sizes = numbers(box)
    tile = Tile(sizes, numbers(steps) if steps is not None else (1,) * len(sizes))
    return declared(x, tile, (swizzle, promotion, fill), shape, strides)


def im2col_map(
    x: Any,
    pixels: int,
    channels: int,
    lower: Sequence[int],
    upper: Sequence[int],
    *,
    steps: Sequence[int] | None = None,
    swizzle: str = "none",
    promotion: str = "128B",
    fill: str = "zeros",
    shape: Sizes | None = None,
    strides: Sizes | None = None,
) -> Any:
    """The map of rows of pixels of images `x` (n, [[depth,] height,] width, channels).

    A box has `pixels` positions of a filter, one after the other, and `channels` channels of
    each. Positions begin `lower` from the first pixel and end `upper` from the last, for each
    spatial axis (for a convolution: -padding, and padding - dilation · (filter - 1)); they are
    `steps` apart. The rest is as in `tensor_map`. PTX ISA, "Tensors", im2col mode.
    """
    corners = numbers(lower), numbers(upper)
    apart = numbers(steps) if steps is not None else (1,) * len(corners[0])
    count, width = numbers((pixels, channels))
    box = Im2col(count, width, *corners, apart)
    return declared(x, box, (swizzle, promotion, fill), shape, strides)


def declared(
    x: Any,
    box: Tile | Im2col,
    form: tuple[str, str, str],
    shape: Sizes | None,
    strides: Sizes | None,
) -> Var:
    """The variable of a tensor map; maps that are alike are one."""
    recorder = current("a tensor map")
    with at(recorder.place):
        tensor = parameter(x, recorder, shape)
        of = TensorMapType(tensor.dtype, box, *form)
        given = tensor.of.shape if shape is None and isinstance(tensor.of, TensorType) else shape
        assert given is not None
        sizes = tuple(known(size, recorder) for size in given)
        apart = gapless(sizes) if strides is None else tuple(known(s, recorder) for s in strides)
        if len(sizes) != of.rank or len(apart) != of.rank - 1:
            raise BadScript(
                f"a box of {of.rank} axes is of a tensor of {of.rank} sizes and {of.rank - 1} "
                f"strides; `{tensor.name}` has {len(sizes)} and {len(apart)}"
            )
        fixed = [evaluate(each, {}) * of.dtype.nbytes for each in apart if not variables(each)]
        check_strides(f"`{tensor.name}`", [int(each) for each in fixed])
    for map in recorder.maps:
        if (map.of, map.tensor, map.shape, map.strides) == (of, tensor, sizes, apart):
            return map.var
    var = Var(recorder.name or f"{tensor.name}_map", of)
    recorder.maps.append(TensorMap(var, tensor, sizes, apart))
    return var


def parameter(x: Any, recorder: Recorder, shape: Sizes | None) -> Var:
    """The parameter of the kernel that a map is of."""
    memory = is_tensor(x) or is_pointer(x)
    if not memory or not isinstance(x, Var) or x in recorder.local:
        raise BadScript(
            f"a tensor map is of a parameter of the kernel, not of {spoken(x)}",
            help="pass the tensor itself",
        )
    if isinstance(x.of, TensorType) and x.of.scope is not Scope.GLOBAL:
        raise BadScript(f"a tensor map is of a tensor in global memory, not of {spoken(x)}")
    strange = is_pointer(x) or (isinstance(x.of, TensorType) and x.of.layout is not None)
    if strange and shape is None:
        raise BadScript(
            f"the shape of {spoken(x)} is not known",
            help="say which shape it has: tensor_map(x, box, shape=(m, n))",
        )
    return x


def numbers(values: Sequence[Any]) -> tuple[int, ...]:
    """Numbers known while transcribing."""
    found = tuple(plain(value.value if isinstance(value, Const) else value) for value in values)
    for value in found:
        if not isinstance(value, int):
            raise BadScript(f"a box has sizes known beforehand, not {spoken(value)}")
    return found


def known(size: Value, recorder: Recorder) -> Expr:
    """A size that can be computed before the launch, as i64."""
    found = index(recorder.expanded(size))
    inside = [*find(found, Load), *find(found, Get), *find(found, Builtin)]
    if inside or any(var in recorder.local for var in find(found, Var)):
        raise BadScript(
            f"the size `{found}` of a tensor map is known only inside of the kernel",
            help="compute it from sizes and parameters",
        )
    return convert(found, i64)


def gapless(shape: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The strides of a tensor whose elements follow one another, of all axes but the last."""
    found: list[Expr] = []
    for size in reversed(shape[1:]):
        found.append(size * found[-1] if found else size)
    return tuple(reversed(found))
