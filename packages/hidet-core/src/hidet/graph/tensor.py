"""Tensors: values that are there, with storage, or will be, with the node that computes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hidet import seams
from hidet.compute.sizes import Shape, product, tidy
from hidet.errors import BadArgument, Place
from hidet.graph.operator import Op
from hidet.types import DType, Size, TensorType, dtype, f32, i64


@dataclass(frozen=True, eq=False)
class Node:
    """One operator applied to tensors; `inputs` are those operands that are there, flat."""

    op: Op
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...] = field(init=False)
    place: Place | None = None
    device: str = "cpu"

    def __post_init__(self) -> None:
        made = tuple(
            Tensor(each, self.device, None, (self, index))
            for index, each in enumerate(self.op.results())
        )
        object.__setattr__(self, "outputs", made)

    def __repr__(self) -> str:
        return f"<{self.op!r}>"


def method(name: str) -> Callable[..., Any]:
    """The public function `name` of the operators, as a method of Tensor."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return seams.call("load_operators")[name](*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"See `hidet.ops.{name}`."
    return call


def reflected(name: str) -> Callable[..., Any]:
    """The same for an operator whose left operand is the other one."""

    def call(self: Tensor, other: Any) -> Any:
        return seams.call("load_operators")[name](other, self)

    call.__doc__ = f"See `hidet.ops.{name}`."
    return call


class Tensor:
    """An n-dimensional array on a device; without storage it stands for a value yet to be computed.

    `storage` is a numpy array for the CPU and whatever the runtime keeps for other devices; `trace`
    is the node that computes the tensor, and which of its outputs it is.
    """

    __slots__ = ("__weakref__", "device", "name", "storage", "trace", "type")

    def __init__(
        self,
        type: TensorType,
        device: str = "cpu",
        storage: Any = None,
        trace: tuple[Node, int] | None = None,
        name: str = "",
    ) -> None:
        self.type = type.with_(shape=tuple(tidy(size) for size in type.shape))
        self.device = spelled_device(device)
        self.storage = storage
        self.trace = trace
        self.name = name

    @property
    def shape(self) -> Shape:
        """The size of each dimension."""
        return self.type.shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.type.dtype

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.type.shape)

    @property
    def size(self) -> Size:
        """How many elements it has."""
        return product(self.type.shape)

    @property
    def is_symbolic(self) -> bool:
        """Whether the values are not there yet."""
        return self.storage is None

    def numpy(self) -> np.ndarray[Any, Any]:
        """The values as a numpy array, sharing memory; the tensor must be on the CPU."""
        if self.storage is None:
            raise BadArgument("a symbolic tensor has no values", help="run the graph that gives it")
        if not isinstance(self.storage, np.ndarray):
            raise BadArgument(f"the tensor is on {self.device}", help="copy it to the CPU first")
        return self.storage

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.shape)) + ("," if self.ndim == 1 else "")
        head = f"Tensor(shape=({sizes}), dtype={self.dtype.name!r}, device={self.device!r})"
        if isinstance(self.storage, np.ndarray):
            wide = self.storage.astype(np.float32) if self.dtype.is_float else self.storage
            values = np.array2string(wide, precision=2, suppress_small=True)
            return f"{head}\n{values}"
        return head if self.trace is None else f"{head}\nfrom {self.trace}"

    def __bool__(self) -> bool:
        if self.storage is None:
            raise BadArgument(
                "the truth of a symbolic tensor is not known yet", help="use where() instead of if"
            )
        return bool(self.numpy())

    def __len__(self) -> int:
        if not self.ndim or not isinstance(self.shape[0], int):
            raise TypeError("the tensor has no known first size")
        return self.shape[0]

    __hash__ = object.__hash__
    __iter__ = None

    __add__, __radd__ = method("add"), reflected("add")
    __sub__, __rsub__ = method("subtract"), reflected("subtract")
    __mul__, __rmul__ = method("multiply"), reflected("multiply")
    __truediv__, __rtruediv__ = method("divide"), reflected("divide")
    __floordiv__, __rfloordiv__ = method("floor_divide"), reflected("floor_divide")
    __mod__, __rmod__ = method("remainder"), reflected("remainder")
    __pow__, __rpow__ = method("pow"), reflected("pow")
    __matmul__, __rmatmul__ = method("matmul"), reflected("matmul")
    __and__, __rand__ = method("bitwise_and"), reflected("bitwise_and")
    __or__, __ror__ = method("bitwise_or"), reflected("bitwise_or")
    __xor__, __rxor__ = method("bitwise_xor"), reflected("bitwise_xor")
    __lshift__, __rshift__ = method("shift_left"), method("shift_right")
    __lt__, __le__, __gt__, __ge__ = map(method, ("less", "less_equal", "greater", "greater_equal"))
    __eq__, __ne__ = method("equal"), method("not_equal")
    __neg__, __invert__, __abs__ = method("negative"), method("bitwise_not"), method("absolute")
    __getitem__ = method("index")

    sum, mean, prod, max, min = map(method, ("sum", "mean", "prod", "max", "min"))
    any, all, var, argmax, argmin = map(method, ("any", "all", "var", "argmax", "argmin"))
    softmax, layer_norm, cumsum = map(method, ("softmax", "layer_norm", "cumsum"))
    relu, sigmoid, tanh, exp, log, sqrt, rsqrt = map(
        method, ("relu", "sigmoid", "tanh", "exp", "log", "sqrt", "rsqrt")
    )
    reshape, permute, transpose, expand = map(method, ("reshape", "permute", "transpose", "expand"))
    squeeze, unsqueeze, flatten, split = map(method, ("squeeze", "unsqueeze", "flatten", "split"))
    cast, clamp = method("cast"), method("clamp")


def spelled_device(device: str) -> str:
    """A device's full name: "cuda" is "cuda:0"."""
    kind, _, index = device.partition(":")
    if kind not in ("cpu", "cuda") or (index and not index.isdecimal()):
        raise BadArgument(f"there is no device {device!r}", help='use "cpu", "cuda" or "cuda:1"')
    return "cpu" if kind == "cpu" else f"cuda:{index or 0}"


def symbol(
    shape: tuple[Size, ...], dtype_: Any = f32, device: str = "cpu", name: str = ""
) -> Tensor:
    """A tensor whose values come later: an input of a graph."""
    return Tensor(TensorType(dtype(dtype_), tuple(shape)), device, name=name)


def symbol_like(x: Tensor) -> Tensor:
    """A symbolic tensor of the same type and device."""
    return Tensor(x.type, x.device, name=x.name)


def from_numpy(array: np.ndarray[Any, Any]) -> Tensor:
    """A tensor on the CPU that shares the array's memory; a gap or a stride makes a copy."""
    packed = array if array.flags.c_contiguous else array.copy()
    return Tensor(TensorType(dtype(packed.dtype), tuple(map(int, packed.shape))), "cpu", packed)


def asarray(values: Any, dtype_: Any = None) -> Tensor:
    """A tensor on the CPU of a number, nested lists or an array; Python floats become float32."""
    array = np.asarray(values)
    if dtype_ is not None:
        return from_numpy(array.astype(dtype(dtype_).numpy))
    if not isinstance(values, np.ndarray | np.generic):
        kinds = {"f": f32.numpy, "i": i64.numpy}
        array = array.astype(kinds.get(array.dtype.kind, array.dtype))
    return from_numpy(array)


def filled(shape: tuple[int, ...], value: float | int | bool, dtype_: Any = f32) -> Tensor:
    """A tensor on the CPU with `value` everywhere."""
    return from_numpy(np.full(tuple(shape), value, dtype(dtype_).numpy))


def randn(shape: tuple[int, ...], dtype_: Any = f32, seed: int | None = None) -> Tensor:
    """A tensor on the CPU of standard normal values."""
    values = np.random.default_rng(seed).standard_normal(tuple(shape))
    return from_numpy(values.astype(dtype(dtype_).numpy))
