"""Variables: what the program reads of them, and what it assigns to them.

What is assigned is a value like any other, which later reads give; the variable gets it after the
call.
"""

from __future__ import annotations

from hidet import ops
from hidet.frontend.operands import constant, size_tensor
from hidet.graph import Tensor
from hidet.types import DType, i32
from hidet_tf.converters.index import gather
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


@tf("ResourceScatterUpdate")
def scatter_update(variable: Variable, index: Tensor, rows: Tensor) -> tuple[()]:
    """The variable has other rows at these places from here on."""
    return assign(variable, ops.index_put(variable.tensor(), (index,), rows))


@tf("ResourceScatterAdd")
def scatter_add(variable: Variable, index: Tensor, rows: Tensor) -> tuple[()]:
    """The variable has rows more at these places from here on."""
    value = variable.tensor()
    return assign(variable, ops.index_put(value, (index,), rows, accumulate=True))


@tf("ResourceScatterSub")
def scatter_sub(variable: Variable, index: Tensor, rows: Tensor) -> tuple[()]:
    """The variable has rows less at these places from here on."""
    return scatter_add(variable, index, ops.negative(rows))
