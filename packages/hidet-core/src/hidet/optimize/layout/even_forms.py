"""How operands of matmuls lie whose rows are whole accesses, or whole lines of memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from hidet import ops
from hidet.compute import evaluate
from hidet.compute.sizes import numbers
from hidet.graph.apply import apply
from hidet.graph.operator import Op, operand_names
from hidet.graph.tensor import Tensor
from hidet.ops.products.matmul import Linear, Matmul
from hidet.types import TensorType

EVEN_BYTES, LINE_BYTES = 16, 128
"""What the bytes of a row are a multiple of where whole accesses copy it, and where what these
bring of it, a line at a time, lies in one line of memory."""
MOST_ZEROS = 1 / 8
"""How many zeros, for each element that there is, are brought for the sake of lines at most."""

Product: TypeAlias = "Linear | Matmul"


@dataclass(frozen=True)
class Form:
    """How an operand of a matmul lies."""

    along_k: bool
    """Whether its rows run along k; else its columns do."""
    turned: bool
    """Whether that is the other way than the operator has it."""
    k: int

    @property
    def is_padded_alone(self) -> bool:
        """Whether an operand has this form once zeros are behind its rows."""
        return self.along_k and not self.turned

    def has_zeros_behind(self, wide: Tensor) -> bool:
        """Whether a tensor with zeros behind its rows is the operand in this form."""
        return self.is_padded_alone and wide.shape[-1] == self.k

    def of(self, x: Tensor) -> Tensor:
        """An operand in this form; itself if it has it."""
        if self.turned:
            x = ops.permute(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))
        return padded(x, x.ndim - (1 if self.along_k else 2), self.k)


def ways(op: Product) -> list[tuple[Form, Form]]:
    """The forms of both operands with even rows, and with rows of whole lines; none where nothing
    changes, or can be known."""
    found = [forms(op, each) for each in (EVEN_BYTES, LINE_BYTES)]
    return list(dict.fromkeys(each for each in found if each is not None))


def forms(op: Product, multiple: int) -> tuple[Form, Form] | None:
    """The forms of both operands with rows of multiples of so many bytes, if they have others."""
    a, b = operands(op)
    own = along_k(op)
    k, rows = a.shape[-1 if own[0] else -2], (a.shape[-1], b.shape[-1])
    if not (isinstance(k, int) and all(isinstance(size, int) for size in rows)):
        return None
    step = max(step_of(a, multiple), step_of(b, multiple))
    turned = [not along and size % step != 0 for along, size in zip(own, rows, strict=True)]
    along = [one or other for one, other in zip(own, turned, strict=True)]
    whole = rounded(k, step) if any(along) else k
    if whole == k and not any(turned):
        return None
    if multiple > EVEN_BYTES and whole > k * (1 + MOST_ZEROS):
        return None
    first, second = (Form(*each, whole) for each in zip(along, turned, strict=True))
    return first, second


def own_forms(op: Product) -> tuple[Form, Form]:
    """The forms in which the operator has its operands."""
    a, _ = operands(op)
    first, second = along_k(op)
    k: Any = a.shape[-1 if first else -2]
    return Form(first, False, k), Form(second, False, k)


def multiplied(op: Product, a: Tensor, b: Tensor, bias: Tensor | None, form: Any) -> Tensor:
    """The operator's result, of operands in these forms."""
    if isinstance(op, Linear):
        return apply(Linear, a, b, bias)
    first, second = form
    how = {"transpose_a": not first.along_k, "transpose_b": second.along_k}
    return apply(Matmul, a, b, **how, dtype=op.dtype)


def with_wide_result(
    op: Product, weight: Tensor, bias: Tensor | None, n: int
) -> tuple[Tensor, Tensor | None]:
    """A weight and a bias with zeros for columns behind those of the result, up to n of them."""
    axis = weight.ndim - (2 if along_k(op)[1] else 1)
    return padded(weight, axis, n), None if bias is None else padded(bias, 0, n)


def is_odd(of: TensorType, multiple: int = EVEN_BYTES) -> bool:
    """Whether a tensor's rows, of known length, are no multiple of so many bytes."""
    size = of.shape[-1] if of.shape else 0
    return isinstance(size, int) and size % step_of(of, multiple) != 0


def operands(op: Product) -> tuple[TensorType, TensorType]:
    """The types of what an operator multiplies."""
    return (op.x, op.weight) if isinstance(op, Linear) else (op.a, op.b)


def along_k(op: Product) -> tuple[bool, bool]:
    """Whether the rows of its operands run along k."""
    return (True, True) if isinstance(op, Linear) else (not op.transpose_a, op.transpose_b)


def step_of(of: TensorType, multiple: int) -> int:
    """How many elements so many bytes are."""
    return max(1, multiple // of.dtype.nbytes)


def rounded(size: int, step: int) -> int:
    """The size, or the next multiple."""
    return -(-size // step) * step


def padded(x: Tensor, axis: int, size: int) -> Tensor:
    """A tensor with zeros behind its elements along an axis, up to a size."""
    (own,) = numbers((x.shape[axis],))
    return ops.pad(x, [(0, size - own if each == axis else 0) for each in range(x.ndim)])


def keeps_zeros(op: Op) -> bool:
    """Whether a function of each element of its one operand is 0 of 0, at any shape: an expansion
    has a shape of its own, which may be one that data tell."""
    names = operand_names(op.operator_class())
    (name,) = (each for each in names if getattr(op, each) is not None)
    x: TensorType = getattr(op, name)
    one: Any = replace(op, **{name: x.with_(shape=(1,) * x.ndim)})
    if any(each.shape != (1,) * x.ndim for each in one.results()):
        return False
    (found,) = evaluate(one.definition(), np.zeros((1,) * x.ndim, x.dtype.numpy))
    return bool((found == 0).all())
