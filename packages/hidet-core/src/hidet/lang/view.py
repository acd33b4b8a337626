"""Tensors seen through a pointer: a shape for the memory behind an address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hidet.errors import BadScript, DtypeMismatch
from hidet.ir.expr import Expr, Var
from hidet.lang.recorder import current
from hidet.lang.values import index, is_pointer, plain, spoken
from hidet.types import DType, PointerType, Size, TensorType
from hidet.types import dtype as dtype_of


@dataclass(frozen=True)
class View:
    """Memory behind `pointer`, indexed as a tensor; it has no `get` and `put`: its end is known
    only to its type."""

    pointer: Expr
    type: TensorType

    @property
    def shape(self) -> tuple[Size, ...]:
        """The sizes."""
        return self.type.shape

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.type.dtype

    def offset(self, position: Sequence[Any]) -> Expr:
        """How many elements from the pointer an index is: by the layout, or row after row."""
        if len(position) != len(self.shape):
            raise BadScript(
                f"the view has {len(self.shape)} dimensions, the index has {len(position)}",
                help="give one index for each dimension",
            )
        where = [index(each) for each in position]
        if self.type.layout is not None:
            return index(self.type.layout(tuple(where)))
        found: Any = 0
        for each, size in zip(where, self.shape, strict=True):
            found = each if plain(found) == 0 else found * size + each
        return index(found)


def view(pointer: Any, of: TensorType) -> View:
    """The memory behind a pointer as a tensor: `view(p, f32[m, n])`."""
    if not is_pointer(pointer):
        raise BadScript(
            f"a view is of a pointer, not of {spoken(pointer)}", help="declare `p: ~f32`"
        )
    if not isinstance(of, TensorType):
        raise BadScript(f"a view has a tensor type, not {spoken(of)}", help="as f32[m, n]")
    if pointer.type != PointerType(of.dtype):
        raise DtypeMismatch(
            f"{spoken(pointer)} does not point to {of.dtype}", help="use reinterpret(p, ~f32)"
        )
    held = pointer if isinstance(pointer, Var) else current("a view").declare(pointer.type, pointer)
    return View(held, of)


def as_tensor_pointer(
    pointer: Any, dtype: DType | str, shape: Sequence[Size], layout: Any = None
) -> View:
    """The same as `view`, of parts of a type."""
    return view(pointer, TensorType(dtype_of(dtype), tuple(shape), layout=layout))
