"""Tensors with values: from arrays, lists, other libraries' memory, or at random."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from hidet.errors import BadArgument
from hidet.graph.tensor import Tensor, moved, spelled_device
from hidet.runtime.binding.memory import array_of
from hidet.runtime.devices.cuda_memory import CudaAllocator
from hidet.runtime.devices.dlpack import view_of_dlpack
from hidet.types import DType, TensorType, boolean, f32, i64
from hidet.types import dtype as dtype_of


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor on the CPU that shares the array's memory; a gap or a stride makes a copy."""
    array = np.asarray(array)  # numpy's numbers are no arrays
    packed = array if array.flags.c_contiguous else array.copy()
    return Tensor(TensorType(dtype_of(packed.dtype), tuple(map(int, packed.shape))), "cpu", packed)


def from_dlpack(source: Any) -> Tensor:
    """A tensor that shares the memory of another library's array, where that lies without gaps."""
    view, has_gaps, _ = view_of_dlpack(source)
    if has_gaps:
        raise BadArgument("an array with gaps between its elements", help="pass a contiguous copy")
    of = TensorType(dtype_of(view.dtype), view.shape)
    if view.device != "cpu":
        return Tensor(of, view.device, view)
    return Tensor(of, "cpu", array_of(view))


def from_torch(tensor: Any) -> Tensor:
    """A tensor that shares the memory of one of PyTorch; gradients are left behind."""
    return from_dlpack(tensor.detach().contiguous())


def asarray(values: Any, dtype: Any = None, device: str | None = None) -> Tensor:
    """A tensor of a number, nested lists, an array or a tensor; Python's floats become float32.

    Arrays on the CPU and tensors share their memory where no conversion is asked for.
    """
    if isinstance(values, Tensor):
        found = values
    elif hasattr(values, "__dlpack__") and not isinstance(values, np.ndarray | np.generic):
        found = from_dlpack(values)
    else:
        found = from_numpy(as_numpy(values))
    return found.to(dtype=dtype, device=device)


def as_numpy(values: Any) -> np.ndarray[Any, Any]:
    """Python's numbers as an array of the types that models use; arrays as they are."""
    array = np.asarray(values)
    if isinstance(values, np.ndarray | np.generic):
        return array
    kinds = {"f": f32.numpy, "i": i64.numpy}
    return array.astype(kinds.get(array.dtype.kind, array.dtype))


def empty(shape: Sequence[int], dtype: Any = f32, device: str = "cpu") -> Tensor:
    """A tensor whose values are whatever the memory held."""
    of, where = TensorType(dtype_of(dtype), sizes(shape)), spelled_device(device)
    if where == "cpu":
        return Tensor(of, where, np.empty(sizes(shape), of.dtype.numpy))
    return Tensor(of, where, CudaAllocator().output(0, sizes(shape), of.dtype.name, where))


def empty_like(x: Tensor) -> Tensor:
    """A tensor of the same type and device, its values whatever the memory held."""
    return empty(sizes(x.shape), x.dtype, x.device)


def filled(shape: Sequence[int], value: float | int | bool, dtype: Any = f32) -> Tensor:
    """A tensor on the CPU with `value` everywhere."""
    return from_numpy(np.full(sizes(shape), value, dtype_of(dtype).numpy))


def randn(
    shape: Sequence[int],
    dtype: Any = f32,
    device: str = "cpu",
    *,
    mean: float = 0.0,
    stddev: float = 1.0,
    seed: int | None = None,
) -> Tensor:
    """Normally distributed values."""
    values = generator(seed).standard_normal(sizes(shape)) * stddev + mean
    return of_values(values, dtype, device)


def randint(
    low: int,
    high: int | None = None,
    shape: Sequence[int] = (),
    dtype: Any = i64,
    device: str = "cpu",
    *,
    seed: int | None = None,
) -> Tensor:
    """Integers from `low` to below `high`; with one bound from 0 to below it."""
    first, last = (0, low) if high is None else (low, high)
    return of_values(generator(seed).integers(first, last, sizes(shape)), dtype, device)


def rand(
    shape: Sequence[int], dtype: Any = f32, device: str = "cpu", *, seed: int | None = None
) -> Tensor:
    """Values spread evenly between 0 and 1."""
    return of_values(generator(seed).random(sizes(shape)), dtype, device)


def randn_like(x: Tensor, *, seed: int | None = None) -> Tensor:
    """Normally distributed values of the same type and device as `x`."""
    return randn(sizes(x.shape), x.dtype, x.device, seed=seed)


def of_values(values: Any, dtype: Any, device: str) -> Tensor:
    """Values of numpy's choice as a tensor."""
    of: DType = dtype_of(dtype)
    converted = np.asarray(values != 0) if of is boolean else np.asarray(values).astype(of.numpy)
    return moved(from_numpy(converted), spelled_device(device))


def generator(seed: int | None) -> np.random.Generator:
    """Where random values come from: `manual_seed`'s sequence, or one of their own."""
    return _shared[0] if seed is None else np.random.default_rng(seed)


def manual_seed(seed: int) -> None:
    """From now on random tensors without a seed of their own are those of this sequence."""
    _shared[0] = np.random.default_rng(seed)


_shared = [np.random.default_rng()]


def sizes(shape: Sequence[Any]) -> tuple[int, ...]:
    """A shape as numbers; BadArgument if a size is none, or negative."""
    found = (shape,) if isinstance(shape, int) else tuple(shape)
    for size in found:
        if not isinstance(size, int | np.integer) or size < 0:
            raise BadArgument(f"{size!r} is no size of a tensor with values")
    if prod(found) >= 1 << 62:
        raise BadArgument(f"a tensor of shape {found} has too many elements")
    return tuple(int(size) for size in found)
