"""Products by warpgroups of 128 threads, in the background (sm_90a).

    a = shared_tensor(f16, (64, 64), wgmma_layout(f16, 64, 64))
    ...
    left, right = wgmma_descriptor(~a[0, 0]), wgmma_descriptor(~b[0, 0])
    wgmma_fence(sums)
    for k in static(range(4)):
        wgmma(left.advance(32 * k), right.advance(32 * k), sums, "m64n128k16", add=k > 0)
    wgmma_commit_group()
    wgmma_wait_group(0, sums)

Between `wgmma_fence` and the wait, nothing but products may touch `sums`. Operands written by
ordinary stores need a proxy fence and a barrier before. `hidet.mapping.fragments.wgmma_c` says
which thread holds which element of the sums, `wgmma_a` of A in registers; `wgmma_layout` gives
the layout of a shared tensor.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from hidet.errors import BadScript
from hidet.ir.expr import Address, Expr, Value
from hidet.lang.cuda.invoke import invoke, operand
from hidet.lang.memory import Distributed
from hidet.lang.recorder import current
from hidet.lang.values import converted, is_pointer, is_tensor, spoken, truth
from hidet.mapping import Layout
from hidet.mapping.swizzle import Swizzle, SwizzledLayout, tma_swizzle
from hidet.types import DType, TensorType, boolean, dtype, u64

UNIT = 16
"""Bytes of a line, and the unit of a descriptor's address."""


@dataclass(frozen=True)
class Descriptor:
    """Where `wgmma` finds an operand in shared memory, and of which type its elements are."""

    value: Expr
    dtype: DType
    transposed: bool

    def advance(self, nbytes: Value) -> Descriptor:
        """The descriptor of a tile `nbytes` further on, a multiple of 16."""
        if isinstance(nbytes, int) and nbytes % UNIT:
            raise BadScript(f"a descriptor advances by multiples of 16 bytes, not by {nbytes}")
        lines = converted(nbytes, u64, "the number of bytes") // UNIT
        return Descriptor(self.value + lines, self.dtype, self.transposed)


def wgmma_descriptor(
    source: Any,
    leading: int | None = None,
    stride: int | None = None,
    swizzle: int | None = None,
    transposed: bool = False,
    base_offset: int = 0,
) -> Descriptor:
    """The descriptor of the operand whose first element is at `source`, in shared memory.

    Elements that are neighbours in memory are so along k or, `transposed` (16-bit types only),
    along m or n. Distances are those of the tensor's `wgmma_layout`, if it has one. Else, in bytes:
    `stride` from 8 rows of A (columns of B) to the next 8; transposed and swizzled, from 8 k to the
    next 8. `leading` counts only without `swizzle` (from 16 bytes to the next 16 along k) or
    transposed (from `swizzle` bytes of a row to the next ones); transposed and not swizzled, from
    8 k to the next 8, and `stride` from 16 bytes to the next. `swizzle` is 0, 32, 64 or 128;
    `base_offset` is for tiles whose pattern does not begin at a multiple of 8 · swizzle bytes.
    PTX ISA: wgmma, Matrix Descriptor Format.
    """
    where = operand(source)
    if not is_pointer(where):
        raise BadScript(
            f"a descriptor is of an address, not of {spoken(source)}", help="write `~tile[0, 0]`"
        )
    if stride is None:
        given = distances(where, transposed)
    else:
        given = (UNIT if leading is None else leading, stride, 128 if swizzle is None else swizzle)
    value = invoke("wgmma_descriptor", where, results=(u64,), options=(*given, base_offset))
    return Descriptor(value, where.dtype, transposed)


def distances(where: Expr, transposed: bool) -> tuple[int, int, int]:
    """The leading and the stride distance and the swizzle of a tensor that has a `wgmma_layout`."""
    found = current("a descriptor").expanded(where)
    of = found.tensor.type if isinstance(found, Address) else None
    layout = of.layout if isinstance(of, TensorType) else None
    if not isinstance(layout, SwizzledLayout):
        raise BadScript(
            f"it is not known how the tile at {spoken(where)} lies in memory",
            help="make the tensor with layout=wgmma_layout(...), or give leading=, stride= and "
            "swizzle= in bytes",
        )
    *_, rows, (wide, _) = layout.shape
    span = wide * where.dtype.nbytes
    panel, eight = rows * span, 8 * span
    if not layout.swizzle.bits:
        return (eight, panel, 0) if transposed else (panel, eight, 0)
    return (panel if transposed else UNIT), eight, span


def wgmma_layout(of: DType | str, *shape: int, swizzle: int = 128) -> SwizzledLayout:
    """The layout of a shared tensor [..., rows, columns] as wgmma and TMA take it.

    Panels of `swizzle` (128, 64, 32; 0: 16) bytes of each row stand one after the other, each
    swizzled by itself. A panel has rows · swizzle bytes, and is what one TMA box fills.
    """
    *outer, rows, columns = shape
    element = dtype(of)
    wide = (swizzle or UNIT) // element.nbytes
    if rows % 8 or columns % wide:
        raise BadScript(
            f"a tile has whole groups of 8 rows, and rows of whole {swizzle or UNIT} bytes, not "
            f"{rows} x {columns} of {element}"
        )
    strides = [rows * columns * prod(outer[n + 1 :]) for n in range(len(outer))]
    lies = Layout((*outer, rows, (wide, columns // wide)), (*strides, wide, (1, rows * wide)))
    permuted = tma_swizzle(swizzle, element.nbytes) if swizzle else Swizzle(0, 0, 0)
    return SwizzledLayout(permuted, lies)


def wgmma(
    a: Any,
    b: Descriptor,
    c: Any,
    shape: str,
    add: Value = True,
    negate_a: bool = False,
    negate_b: bool = False,
    saturate: bool = False,
) -> None:
    """Start c += a · b by the warpgroup; where not `add`, c = a · b. PTX ISA: wgmma.mma_async.

    `a` is a descriptor or a register tensor, `b` a descriptor, `c` a register tensor. Shapes are
    m64nNk16 (f16 into f32 or f16, bf16 into f32), m64nNk8 (tf32 into f32) and m64nNk32 (f8e4m3 and
    f8e5m2, mixed if you like, into f32 or f16; i8 and u8, mixed, into i32, which wraps around
    unless `saturate`); N is 8, 16, ... 256, for integers above 32 every 16th.
    """
    if not isinstance(b, Descriptor):
        raise BadScript(f"b of wgmma is a wgmma_descriptor(...), not {spoken(b)}")
    left = a.value if isinstance(a, Descriptor) else operand(a)
    given = {
        "negate_a": negate_a,
        "negate_b": negate_b,
        "transpose_a": isinstance(a, Descriptor) and a.transposed,
        "transpose_b": b.transposed,
        "saturate": saturate,
    }
    flags = tuple(name for name, wanted in given.items() if wanted)
    of = a.dtype if isinstance(a, Descriptor) else left.dtype
    options = (shape, of.short, b.dtype.short, *flags)
    condition = truth(add) if isinstance(add, Expr) else converted(bool(add), boolean, "add")
    invoke("wgmma", left, b.value, operand(c), condition, options=options)


def wgmma_fence(*registers: Any) -> None:
    """Order accesses of registers before the products that follow. PTX ISA: wgmma.fence.

    Needed before a warpgroup's first product, and after ordinary code has touched an accumulator
    or a fragment of A. Naming them keeps the compiler from moving such code behind the fence.
    """
    counts = tuple(map(elements, registers))
    invoke("wgmma_fence", *registers, options=counts)


def wgmma_commit_group() -> None:
    """Make the products since the last commit one group. PTX ISA: wgmma.commit_group."""
    invoke("wgmma_commit_group")


def wgmma_wait_group(pending: int, *registers: Any) -> None:
    """Wait until at most `pending` groups are under way. PTX ISA: wgmma.wait_group.

    `registers` are those that are free afterwards: naming them keeps the compiler from reading
    them before.
    """
    counts = tuple(map(elements, registers))
    invoke("wgmma_wait_group", *registers, options=(pending, *counts))


def elements(registers: Any) -> int:
    """How many elements of a register tensor each thread has."""
    local = registers.local if isinstance(registers, Distributed) else registers
    if not is_tensor(local) or not isinstance(local.type, TensorType):
        raise BadScript(f"registers are named by their tensor, not by {spoken(registers)}")
    sizes = [size for size in local.type.shape if isinstance(size, int)]
    return prod(sizes)
