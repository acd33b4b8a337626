"""Where the operands of a concatenation lie within its result, and who can write them there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hidet.compute.sizes import Shape, tidy
from hidet.fusion.compose import leading_to
from hidet.fusion.group import Group, Note, OutputView
from hidet.graph.tensor import Node, Tensor
from hidet.mapping.slot import Slot
from hidet.ops.tensors.joining import Concat
from hidet.ops.tensors.slicing import Slice
from hidet.optimize.separate_outputs import copied
from hidet.types import Size


@dataclass(frozen=True, eq=False)
class Operand:
    """One operand of a concatenation, and where it lies in each place that the result has."""

    tensor: Tensor
    places: tuple[OutputView, ...]


def operands(group: Group) -> Iterator[Operand]:
    """The operands of the concatenation that a group ends in, and of those inside it."""
    (result,) = group.last.outputs
    whole = laid(result, Slot(result.shape, at_start(result)))
    own = [OutputView(whole, at_start(result), result)] if group.stored else []
    return within(group, group.last, (*own, *group.output_views))


def within(group: Group, concat: Node, given: Sequence[OutputView]) -> Iterator[Operand]:
    """Those of one concatenation, which lies at the places given."""
    assert isinstance(concat.op, Concat)
    axis = concat.op.axis
    start: Size = 0
    for tensor in concat.inputs:
        places = tuple(moved(tensor, each, axis, start) for each in given)
        inner = concat_in(group, tensor)
        if inner is None:
            yield Operand(tensor, places)
        else:
            yield from within(group, inner, places)
        start = tidy(start + tensor.shape[axis])


def concat_in(group: Group, tensor: Tensor) -> Node | None:
    """The concatenation in a group that gives a tensor, if one does."""
    if tensor.trace is None:
        return None
    node, _ = tensor.trace
    return node if isinstance(node.op, Concat) and node in group.nodes else None


def moved(tensor: Tensor, place: OutputView, axis: int, start: Size) -> OutputView:
    """Where an operand lies that begins at `start` of a result that lies at `place`."""
    slot: Slot = place.tensor.type.layout
    starts = list(slot.starts)
    starts[axis] = tidy(starts[axis] + start)
    return OutputView(laid(tensor, Slot(slot.whole, tuple(starts))), at_start(tensor), place.whole)


def laid(tensor: Tensor, slot: Slot) -> Tensor:
    """A tensor where it lies within a larger one."""
    return Tensor(tensor.type.with_(layout=slot), tensor.device)


def at_start(tensor: Tensor) -> Shape:
    """The index of a tensor's first element."""
    return (0,) * tensor.ndim


def is_window(group: Group) -> bool:
    """Whether only a window of a group's result lies within another tensor."""
    (result,) = group.last.outputs
    return any(
        place.starts != at_start(result) or place.tensor.shape != result.shape
        for place in group.output_views
    )


def source(group: Group, tensor: Tensor) -> tuple[Tensor, Shape]:
    """What a tensor of a group is a slice of, and where that begins; itself if it is none."""
    chain = leading_to([tensor], group.nodes)
    op = chain[0].op if len(chain) == 1 else None
    if isinstance(op, Slice) and all(step == 1 for step in op.steps):
        return chain[0].inputs[0], op.starts
    return tensor, at_start(tensor)


def written_apart(group: Group, operand: Operand, why: str) -> Group:
    """A group that computes or copies an operand of a group's concatenation to its places."""
    chain = leading_to([operand.tensor], group.nodes) or copy_of(operand.tensor)
    note = Note(f"written apart from the rest of the concat: {why}")
    return Group(chain, notes=[note], output_views=operand.places, stored=False, order=group.order)


def copying(tensor: Tensor, place: OutputView) -> Group:
    """A group that copies a tensor, or a window of it, to its place."""
    return Group(copy_of(tensor), output_views=(place,), stored=False)


def copy_of(tensor: Tensor) -> list[Node]:
    """What copies a tensor."""
    made = copied(tensor)
    assert made.trace is not None
    return [made.trace[0]]


def write(maker: Group, operand: Operand, starts: Shape) -> None:
    """Let a group write an operand, from `starts` of its result on, to its places."""
    maker.output_views += tuple(replace(each, starts=starts) for each in operand.places)
