"""Types of values in kernels and graphs: tensors, vectors, pointers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from hidet.types.dtypes import DType, _hooks
from hidet.types.tensor_map import TensorMapType

if TYPE_CHECKING:
    from hidet.ir.expr import Expr

Size: TypeAlias = "int | Expr"
"""A size of a shape: a number, or an expression over symbols known only at run time."""


class Scope(StrEnum):
    """Where a tensor lies and who sees it."""

    GLOBAL = "global"
    SHARED = "shared"
    REGISTER = "register"


@dataclass(frozen=True, slots=True)
class VectorType:
    """`lanes` elements that move as one value, in one 4-, 8-, 16- or wider-byte access."""

    element: DType
    lanes: int

    @property
    def nbytes(self) -> int:
        """Bytes the whole vector takes."""
        return self.element.nbytes * self.lanes

    def __str__(self) -> str:
        return f"{self.element}x{self.lanes}"


@dataclass(frozen=True, slots=True)
class PointerType:
    """The address of an element of type `to`."""

    to: DType

    def __str__(self) -> str:
        return f"~{self.to}"


@dataclass(frozen=True, slots=True)
class TensorType:
    """An n-dimensional array: element type, shape, where it lies, how its elements lie.

    `layout` maps an index to the offset in elements (None: row-major without gaps); it is anything
    callable on an index tuple, as a `hidet.mapping` layout, or a task mapping for a register tensor
    that is spread over the threads of a block.
    """

    dtype: DType
    shape: tuple[Size, ...]
    scope: Scope = Scope.GLOBAL
    layout: Any = None

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return len(self.shape)

    def with_(self, **changes: Any) -> TensorType:
        """The same type with some fields changed."""
        return replace(self, **changes)

    def __str__(self) -> str:
        sizes = ", ".join(map(str, self.shape))
        scope = "" if self.scope is Scope.GLOBAL else f" {self.scope}"
        layout = "" if self.layout is None else f" @ {self.layout}"
        return f"{self.dtype}[{sizes}]{scope}{layout}"


Type: TypeAlias = DType | VectorType | PointerType | TensorType | TensorMapType
"""The type of a value of a kernel."""


def shared_alignment(nbytes: int) -> int:
    """Where a shared array of so many bytes begins: at a multiple of this many bytes.

    It is the largest power of two that divides the size, from 128 to 1024: arrays of whole
    swizzled tiles are aligned as these need it, and nothing is lost between them.
    """
    return min(max(nbytes & -nbytes, 128), 1024)


_hooks["tensor"] = TensorType
_hooks["pointer"] = PointerType
