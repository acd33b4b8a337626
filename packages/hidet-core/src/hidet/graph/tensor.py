"""Tensors: values that are there, with storage, or will be, with the node that computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from operator import is_
from typing import Any

import numpy as np

from hidet import seams
from hidet.compute.guards import assumptions
from hidet.compute.sizes import Shape, product, tidy
from hidet.errors import BadArgument, Place
from hidet.graph.operator import Op
from hidet.ir.expr import Var
from hidet.runtime.binding.memory import array_of, to_device, view_of
from hidet.runtime.devices.dlpack import device_type, exported
from hidet.runtime.devices.view import View
from hidet.types import DType, Size, TensorType, f32, i32
from hidet.types import dtype as dtype_of


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


def listing(name: str) -> Callable[..., Any]:
    """The same for an operator of a list, whose items may come one by one: `x.reshape(2, 3)`."""

    def call(self: Tensor, *items: Any, **named: Any) -> Any:
        given = items if len(items) < 2 else (items,)
        return seams.call("load_operators")[name](self, *given, **named)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"See `hidet.ops.{name}`."
    return call


class Tensor:
    """An n-dimensional array on a device; without storage it stands for a value yet to be computed.

    `storage` is a numpy array for the CPU and whatever the runtime keeps for other devices; `trace`
    is the node that computes the tensor, and which of its outputs it is.

    Python's operators and indexing work as numpy's do, and operators of `hidet.ops` are methods:
    sum, mean, prod, max, min, any, all, var, argmax, argmin, softmax, layer_norm, cumsum, relu,
    sigmoid, tanh, exp, log, sqrt, rsqrt, reshape, permute, transpose, expand, squeeze, unsqueeze,
    flatten, split, clamp, matmul and cast, which is also astype.
    """

    __slots__ = ("__weakref__", "device", "made_type", "name", "storage", "trace")

    def __init__(
        self,
        type: TensorType,
        device: str = "cpu",
        storage: Any = None,
        trace: tuple[Node, int] | None = None,
        name: str = "",
    ) -> None:
        self.made_type = tidied(type)
        self.device = spelled_device(device)
        self.storage = storage
        self.trace = trace
        self.name = name

    @property
    def type(self) -> TensorType:
        """Its type: `made_type`, with what was assumed of sizes since then."""
        return tidied(self.made_type) if assumptions() else self.made_type

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

    @property
    def is_contiguous(self) -> bool:
        """True: tensors have no gaps."""
        return True

    @property
    def T(self) -> Tensor:
        """The tensor with its dimensions in reverse order."""
        reverse = tuple(range(self.ndim))[::-1]
        return seams.call("load_operators")["permute"](self, reverse)  # type: ignore[no-any-return]

    def values(self) -> Any:
        """The storage: a numpy array, or memory of a device; BadArgument if there is none."""
        if self.storage is None:
            raise BadArgument("a symbolic tensor has no values", help="run the graph that gives it")
        return self.storage

    def numpy(self) -> np.ndarray[Any, Any]:
        """The values as a numpy array, sharing memory; the tensor must be on the CPU."""
        values = self.values()
        if not isinstance(values, np.ndarray):
            raise BadArgument(f"the tensor is on {self.device}", help="use tensor.cpu().numpy()")
        return values

    def torch(self) -> Any:
        """The values as a PyTorch tensor, sharing memory; PyTorch has to be installed."""
        return import_module("torch").from_dlpack(self)

    def item(self) -> Any:
        """The one element as a number of Python."""
        return self.cpu().numpy().item()

    def tolist(self) -> Any:
        """The values as nested lists of Python's numbers."""
        return self.cpu().numpy().tolist()

    def to(self, *where: Any, device: str | None = None, dtype: Any = None) -> Tensor:
        """The tensor on another device, or of another element type, or both; itself if it is so.

        Without names, devices and element types may come in any order.
        """
        for each in where:
            if isinstance(each, str) and each.partition(":")[0] in DEVICES:
                device = each
            else:
                dtype = each
        made = self
        if dtype is not None and dtype_of(dtype) is not self.dtype:
            made = seams.call("load_operators")["cast"](made, dtype)
        return made if device is None else moved(made, spelled_device(device))

    def cpu(self) -> Tensor:
        """The tensor on the CPU."""
        return moved(self, "cpu")

    def cuda(self, index: int = 0) -> Tensor:
        """The tensor on a GPU."""
        return moved(self, f"cuda:{index}")

    def copy(self) -> Tensor:
        """A tensor with memory of its own."""
        values = self.values()
        if isinstance(values, np.ndarray):
            return Tensor(self.type, self.device, values.copy())
        return moved(self.cpu(), self.device)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if dtype is None or np.dtype(dtype) == array.dtype:
            return array.copy() if copy else array
        if copy is False:
            raise ValueError(f"an array of {dtype} needs a copy of one of {array.dtype}")
        return array.astype(dtype)

    def __dlpack__(self, *, stream: int | None = None, **options: Any) -> Any:
        return exported(self.view(), stream, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return device_type(self.device)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.device == "cpu" or self.storage is None:
            raise AttributeError("only tensors in the memory of a GPU have a CUDA array interface")
        view = self.view()
        name = self.dtype.numpy.str if self.dtype.numpy.kind != "V" else f"<V{self.dtype.nbytes}"
        facts = {"data": (view.pointer, False), "shape": view.shape, "typestr": name}
        return {**facts, "version": 3, "stream": 1}

    def view(self) -> View:
        """The memory that holds the values."""
        values = self.values()
        return view_of(values) if isinstance(values, np.ndarray) else values

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.shape)) + ("," if self.ndim == 1 else "")
        head = f"Tensor(shape=({sizes}), dtype={self.dtype.name!r}, device={self.device!r})"
        if self.storage is None:
            return head if self.trace is None else f"{head}\nfrom {self.trace}"
        array = self.cpu().numpy()
        wide = array.astype(np.float32) if self.dtype.is_float else array
        return f"{head}\n{np.array2string(wide, precision=2, suppress_small=True)}"

    def __bool__(self) -> bool:
        if self.storage is None:
            raise BadArgument(
                "the truth of a symbolic tensor is not known yet", help="use where() instead of if"
            )
        if self.size != 1:
            raise BadArgument(
                f"the truth of {self.size} elements is ambiguous", help="use .any() or .all()"
            )
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

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
    reshape, permute, expand = map(listing, ("reshape", "permute", "expand"))
    squeeze, unsqueeze, flatten, split = map(method, ("squeeze", "unsqueeze", "flatten", "split"))
    transpose, matmul = map(method, ("transpose", "matmul"))
    cast, astype, clamp = method("cast"), method("cast"), method("clamp")


NUMBERS, class_of = frozenset({int}), type


def tidied(type: TensorType) -> TensorType:
    """The type with each size in its simplest form."""
    if isinstance(type.shape, tuple) and NUMBERS.issuperset(map(class_of, type.shape)):
        return type
    sizes = tuple(map(tidy, type.shape))
    is_tidy = isinstance(type.shape, tuple) and all(map(is_, sizes, type.shape))
    return type if is_tidy else type.with_(shape=sizes)


def alike(one: TensorType, other: TensorType) -> bool:
    """Whether two types are the same, by what is assumed of their sizes."""
    return one == other or tidied(one) == tidied(other)


DEVICES = ("cpu", "cuda")


def moved(tensor: Tensor, device: str) -> Tensor:
    """The tensor's values on a device; what is under way on another one is waited for."""
    if tensor.device == device:
        return tensor
    if tensor.storage is None:
        raise BadArgument(f"a symbolic tensor on {tensor.device} has no values to copy to {device}")
    if isinstance(tensor.storage, np.ndarray):  # the host may hold values of a tensor of a GPU
        held = tensor.storage if device == "cpu" else to_device(tensor.storage, device)
        return Tensor(tensor.type, device, held)
    here = Tensor(tensor.type, "cpu", array_of(tensor.storage))
    return here if device == "cpu" else moved(here, device)


@lru_cache(maxsize=64)
def spelled_device(device: str) -> str:
    """A device's full name: "cuda" is "cuda:0"."""
    kind, _, index = device.partition(":")
    if kind not in DEVICES or (index and not index.isdecimal()):
        raise BadArgument(f"there is no device {device!r}", help='use "cpu", "cuda" or "cuda:1"')
    return "cpu" if kind == "cpu" else f"cuda:{index or 0}"


def symbol(
    shape: Sequence[Size | str], dtype: Any = f32, device: str = "cpu", name: str = ""
) -> Tensor:
    """A tensor whose values come later: an input of a graph.

    A size given by a name is known when the graph runs; one name is one size within the tensor.
    """
    named = {each: Var(each, i32) for each in shape if isinstance(each, str)}
    sizes = tuple(named[each] if isinstance(each, str) else each for each in shape)
    return Tensor(TensorType(dtype_of(dtype), sizes), device, name=name)


def symbol_like(x: Tensor) -> Tensor:
    """A symbolic tensor of the same type and device."""
    return Tensor(x.type, x.device, name=x.name)
