"""Variables: what the program reads of them, and what it assigns to them.

What is assigned is a value like any other, which later reads give; the variable gets it after the
call.
"""

from __future__ import annotations

from collections.abc import Callable

from hidet import ops
from hidet.frontend.importing.operands import constant, size_tensor
from hidet.graph import Tensor
from hidet.ops.indexing.positions_nd import Combine
from hidet.types import DType, i32
from hidet_tf.converters.index import gather
from hidet_tf.converters.slices import strided_slice_update
from hidet_tf.converters.table import tf
from hidet_tf.converters.variable import Variable


@tf("ReadVariableOp")
def read_variable(variable: Variable) -> Tensor:
    """The values that a variable has here."""
    return variable.tensor()


@tf("AssignVariableOp")
def assign(variable: Variable, value: Tensor) -> tuple[()]:
    """The variable is a value from here on."""
    variable.assign(value)
    return ()


@tf("AssignAddVariableOp")
def assign_add(variable: Variable, value: Tensor) -> tuple[()]:
    """The variable has a value more from here on."""
    return assign(variable, ops.add(variable.tensor(), value))


@tf("AssignSubVariableOp")
def assign_sub(variable: Variable, value: Tensor) -> tuple[()]:
    """The variable has a value less from here on."""
    return assign(variable, ops.subtract(variable.tensor(), value))


@tf("VariableShape")
def variable_shape(variable: Variable, *, out_type: DType) -> Tensor:
    """The sizes of a variable."""
    return size_tensor(variable.tensor().shape, out_type, variable.tensor().device)


@tf("ResourceGather")
def resource_gather(variable: Variable, index: Tensor, *, batch_dims: int) -> Tensor:
    """The rows of a variable at these places."""
    value = variable.tensor()
    return gather(value, index, constant(batch_dims, i32, value.device), batch_dims=batch_dims)


@tf("ResourceGatherNd")
def resource_gather_nd(variable: Variable, index: Tensor) -> Tensor:
    """The parts of a variable whose leading positions are the last axis of `index`."""
    return ops.gather_nd(variable.tensor(), index)


@tf("ResourceStridedSliceAssign")
def assign_slice(
    variable: Variable, begin: Tensor, end: Tensor, strides: Tensor, value: Tensor, *,
    begin_mask: int, end_mask: int, ellipsis_mask: int, new_axis_mask: int, shrink_axis_mask: int,
) -> tuple[()]:  # fmt: skip
    """The variable has other elements in a slice from here on."""
    return assign(variable, strided_slice_update(
        variable.tensor(), begin, end, strides, value, begin_mask=begin_mask, end_mask=end_mask,
        ellipsis_mask=ellipsis_mask, new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
    ))  # fmt: skip


def scattered(
    name: str, combine: Combine, prepare: Callable[[Tensor], Tensor] = lambda x: x
) -> None:
    """File two operators that combine a variable with others at places: rows, and parts at the
    leading positions in the last axis of `index`."""

    def rows(variable: Variable, index: Tensor, given: Tensor) -> tuple[()]:
        wide = ops.expand(given, (*index.shape, *variable.tensor().shape[1:]))
        return parts(variable, ops.unsqueeze(index, -1), wide)

    def parts(variable: Variable, index: Tensor, given: Tensor) -> tuple[()]:
        return assign(variable, ops.scatter_nd(variable.tensor(), index, prepare(given), combine))

    tf(f"ResourceScatter{name}")(rows)
    tf(f"ResourceScatterNd{name}")(parts)


scattered("Update", "set")
scattered("Add", "add")
scattered("Sub", "add", ops.negative)
scattered("Mul", "mul")
scattered("Min", "min")
scattered("Max", "max")
