"""The end of a group that makes wider elements of integers: better where they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hidet.compute.sizes import same_shape
from hidet.fusion.group import Group
from hidet.fusion.traits import cheap
from hidet.graph.tensor import Node, Tensor


def widened(group: Group, users: Mapping[Tensor, Sequence[Node]]) -> list[Node]:
    """The last operator and what only it needs, if it makes wider elements of integers that the
    operators before give; empty otherwise. With several readers it would be computed for each."""
    last, made = group.last, {each: node for node in group.nodes for each in node.outputs}
    (result,) = last.outputs
    narrow = [each for each in last.inputs if each in made and is_narrow(each, result)]
    if len(narrow) != 1 or users[narrow[0]] != [last] or len(users.get(result, ())) != 1:
        return []
    tail = [last]
    for each in last.inputs:
        maker = made.get(each)
        if maker is None or each is narrow[0]:
            continue
        if maker.inputs or users[each] != [last]:
            return []
        tail.insert(0, maker)
    rest = [each for each in group.nodes if each not in tail]
    before = rest and rest[-1] is made[narrow[0]]
    return tail if before and cheap(last.op) and not group.also else []


def is_narrow(integer: Tensor, result: Tensor) -> bool:
    """Whether a tensor holds the same elements as the result in fewer bytes."""
    fewer = integer.dtype.nbytes < result.dtype.nbytes
    return integer.dtype.is_integer and fewer and same_shape(integer.shape, result.shape)
