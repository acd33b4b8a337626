"""What a target cannot give a kernel, said at the script's line before the driver refuses it."""

from __future__ import annotations

import math

from hidet.compute.sizes import numbers
from hidet.errors import BadKernel
from hidet.intrinsics.words import DYNAMIC_SHARED
from hidet.ir.expr import Builtin
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Declare
from hidet.ir.walk import find
from hidet.target import Target
from hidet.types import Scope, TensorType


def check_shared(written: Kernel, lowered: Kernel, target: Target) -> None:
    """BadKernel at the largest shared tensor if a block of `lowered` needs more than there is."""
    most = target.max_shared_bytes_per_block
    needed = shared_bytes(lowered)
    if target.kind != "cuda" or needed <= most:
        return
    arrays = shared_arrays(written)
    raise BadKernel(
        f"{written.name}: a block needs {needed} bytes of shared memory; {target} has {most}",
        place=max(arrays, key=nbytes).place if arrays else written.place,
        help="make the tiles smaller, or use fewer stages",
    )


def shared_bytes(lowered: Kernel) -> int:
    """The shared memory of a block: arrays, and what is dynamic beside them."""
    arrays = sum(map(nbytes, shared_arrays(lowered)))
    dynamic = lowered.launch.shared_bytes
    own = any(each.name == DYNAMIC_SHARED for each in find(lowered.body, Builtin))
    # Lowering merges arrays into one, and then says its size a second time.
    return arrays if arrays == dynamic and not own else arrays + dynamic


def shared_arrays(kernel: Kernel) -> list[Declare]:
    """Where arrays in shared memory are declared."""
    return [
        each
        for each in find(kernel.body, Declare)
        if isinstance(each.var.of, TensorType) and each.var.of.scope is Scope.SHARED
    ]


def nbytes(array: Declare) -> int:
    """The size of an array, in bytes."""
    of = array.var.of
    assert isinstance(of, TensorType)
    return math.prod(numbers(of.shape)) * of.dtype.nbytes
