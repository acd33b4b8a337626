"""Sizes that depend on data: a tensor computed on the way tells how large later ones are.

`ops.size_from` makes such a size while a graph is traced. A `FlowGraph` finds those that its nodes
mention, calls them `u0`, `u1` and so on, and has the tensors that tell them as its last outputs, so
that whatever changes a graph keeps them.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from types import MappingProxyType
from typing import Literal, TypeAlias
from weakref import WeakKeyDictionary, WeakValueDictionary

from hidet.compute.guards import DATA_SIZES, assumptions, known_late
from hidet.compute.sizes import tidy
from hidet.errors import BadArgument, Place
from hidet.errors.place import here
from hidet.graph.operator import resized
from hidet.graph.tensor import Node, Tensor
from hidet.ir.expr import Expr, Var, wrap
from hidet.ir.order import producers_first
from hidet.ir.walk import substitute, variables
from hidet.runtime.plans.plan import Limits
from hidet.types import Size, i32

SIZE = (0, None)
"""What a size may be of which nothing else is known."""
NO_FLOORS: Mapping[Node, int] = MappingProxyType({})
NO_SIZES: Mapping[Var, Size] = MappingProxyType({})


Sign: TypeAlias = Literal["<=", "=="]


@dataclass(frozen=True)
class Relation:
    """What has to hold of sizes."""

    left: Size
    sign: Sign
    right: Size

    def changed(self, change: Callable[[Expr], Size]) -> Relation:
        """The same of other sizes."""
        left, right = (
            change(each) if isinstance(each, Expr) else each for each in (self.left, self.right)
        )
        return Relation(left, self.sign, right)

    @property
    def symbols(self) -> set[Var]:
        """The symbols that it mentions."""
        return {*variables(wrap(self.left)), *variables(wrap(self.right))}


@dataclass(frozen=True)
class DataSize:
    """A size that a tensor tells: an integer without axes, within limits, needed at `place`."""

    size: Var
    limits: Limits = SIZE
    place: Place | None = None
    traced: Var | None = None
    """The size as it was called while the graph was traced."""
    equals: Size | None = None
    """The size that it was taken to be, which stands for it; each call checks that."""
    holds: tuple[Relation, ...] = ()
    """What else has to hold of it and of sizes that are known by then; each call checks that."""
    beside: tuple[Var, ...] = ()
    """The sizes of the trace that each call has to read too, since they were taken to be this one
    times a number."""


@dataclass(frozen=True)
class Within:
    """What a body tells itself: sizes of the tensors that `is_inside` says it computes, by names
    that begin with `prefix`."""

    is_inside: Callable[[Tensor], bool]
    prefix: str


_numbers = count()
_data_sizes: WeakKeyDictionary[Var, tuple[Tensor, DataSize]] = WeakKeyDictionary()
_sizes: WeakValueDictionary[int, Var] = WeakValueDictionary()
"""By the identity of what tells them, which lives as long as they do."""


def tell(tensor: Tensor, name: str, limits: Limits) -> Var:
    """The size that `tensor`, an i64 without axes, will tell; the same one each time."""
    found = _sizes.get(id(tensor))
    if found is None:
        found = known_late(Var(f"{name}.{next(_numbers)}", i32))
        _data_sizes[found] = tensor, DataSize(found, limits, here(), found)
        _sizes[id(tensor)] = found
        DATA_SIZES.add(found)
    return found


def read_beside(size: Var, other: Var) -> None:
    """Let calls that read a size read another one too, and check what it was taken to be."""
    tensor, data_sizes = _data_sizes[size]
    _data_sizes[size] = tensor, replace(data_sizes, beside=(*data_sizes.beside, other))


def size_source(size: Var) -> Tensor | None:
    """What tells a size of a trace; None of other sizes."""
    found = _data_sizes.get(size)
    return None if found is None else found[0]


def require(left: Size, sign: Sign, right: Size) -> None:
    """Let each call check a relation of data-dependent sizes, as soon as all of them were read: a
    ShapeMismatch where it does not hold. Nothing is checked of sizes that no shape mentions."""
    relation = Relation(left, sign, right)
    for var in relation.symbols:
        if var in _data_sizes:
            tensor, data_sizes = _data_sizes[var]
            _data_sizes[var] = tensor, replace(data_sizes, holds=(*data_sizes.holds, relation))


def sizes_in(node: Node) -> list[Var]:
    """The symbols that a node's types and attributes mention, in order."""
    return list(dict.fromkeys(variables(list(node.op.symbolic_sizes()))))


def sizes_of(tensor: Tensor) -> list[Var]:
    """The symbols that a tensor's shape mentions."""
    return [var for size in tensor.shape if isinstance(size, Expr) for var in variables(size)]


def found_in(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    nodes: Callable[..., list[Node]],
    sizes: Mapping[Var, Size] = NO_SIZES,
    within: Within | None = None,
) -> tuple[dict[Tensor, DataSize], dict[Tensor, Tensor]]:
    """The sizes that nodes of a trace mention, by what tells them, and what stands for tensors of
    the trace from then on.

    `nodes` orders what outputs need. Sizes get names that depend on their order alone; for those in
    `sizes` others stand, which they have to be. Of a body only those count that it tells `within`.
    """
    given = {var for each in inputs for var in sizes_of(each)}
    data_sizes = data_sizes_read(outputs, lambda ends: nodes(ends, inputs), given, within)
    if within is not None and not data_sizes:
        return {}, {}
    whole = [*outputs, *(tensor for tensor, _ in data_sizes.values())]
    used, form = {var.name for var in given}, (within.prefix if within else "") + "u{}"
    fresh = (Var(name, i32) for name in map(form.format, count()) if name not in used)
    now = {var: next(fresh) for var in data_sizes}
    names: dict[Var, Expr] = {old: wrap(new) for old, new in now.items()}
    put_in = {**names, **{var: substitute(wrap(size), names) for var, size in sizes.items()}}

    def renamed(size: Expr) -> Size:
        return tidy(substitute(size, put_in))

    known = {*data_sizes, *given}
    stands: dict[Tensor, Tensor] = {}
    if put_in or assumptions():  # what is assumed may make sizes simpler
        stands = changed(inputs, nodes(whole, inputs), renamed)
    found = {
        stands.get(tensor, tensor): replace(
            each,
            size=now[var],
            equals=tidy(put_in[var]) if var in sizes else None,
            holds=tuple(one.changed(renamed) for one in each.holds if one.symbols <= known),
            beside=(),
        )
        for var, (tensor, each) in data_sizes.items()
    }
    return found, stands


def data_sizes_read(
    outputs: Sequence[Tensor],
    nodes: Callable[[Sequence[Tensor]], list[Node]],
    given: Container[Var] = (),
    within: Within | None = None,
) -> dict[Var, tuple[Tensor, DataSize]]:
    """The sizes of a trace that nodes mention, but for `given` ones, and what tells each of them,
    for which `nodes` are needed too."""
    data_sizes: dict[Var, tuple[Tensor, DataSize]] = {}
    before = -1 if _data_sizes else 0  # in most processes there are none
    while before < len(data_sizes):
        before = len(data_sizes)
        for node in nodes([*outputs, *(tensor for tensor, _ in data_sizes.values())]):
            new = [var for var in needed(sizes_in(node)) if var in _data_sizes and var not in given]
            data_sizes.update(
                (var, _data_sizes[var])
                for var in new
                if within is None or within.is_inside(_data_sizes[var][0])
            )
    return data_sizes


def needed(sizes: Iterable[Var]) -> list[Var]:
    """Sizes, those that they were taken to be, and those that calls have to read beside these."""
    assumed: Container[Var] = assumptions() or ()
    found: dict[Var, None] = {}
    waiting = list(sizes)
    while waiting:
        var = waiting.pop(0)
        if var not in found:
            found[var] = None
            waiting += variables(wrap(tidy(var))) if var in assumed else ()
            waiting += _data_sizes[var][1].beside if var in _data_sizes else ()
    return list(found)


def data_sizes_among(nodes: Iterable[Node], inputs: Iterable[Tensor]) -> list[Var]:
    """The sizes of a trace that nodes mention of which one of these inputs is needed to tell it."""
    if not _data_sizes:
        return []
    sizes = dict.fromkeys(var for node in nodes for var in sizes_in(node) if var in _data_sizes)
    given = set(inputs)
    return [var for var in sizes if not given.isdisjoint(behind(_data_sizes[var][0]))]


def behind(tensor: Tensor) -> list[Tensor]:
    """The tensor, and all that it is computed from."""
    return producers_first(
        [tensor], lambda each: [] if each.trace is None else [*each.trace[0].inputs]
    )


def stages_of(
    nodes: Sequence[Node],
    data_sizes: Mapping[Var, Tensor],
    inputs: Iterable[Tensor],
    floors: Mapping[Node, int] = NO_FLOORS,
) -> dict[Node, int]:
    """How many sizes have to be read, one after the other, before each node can run; `floors` are
    those that some nodes wait for anyway.

    Raises BadArgument if a size is told by what has that size itself.
    """
    given = set(inputs)
    mentioned = {
        node: [data_sizes[var] for var in sizes_in(node) if var in data_sizes] for node in nodes
    }
    stages = {node: floors.get(node, 0) for node in nodes}

    def stage(tensor: Tensor) -> int:
        known = tensor in given or tensor.storage is not None or tensor.trace is None
        return 0 if known or tensor.trace is None else stages[tensor.trace[0]]

    for _ in range(len(data_sizes) + 2):
        before = dict(stages)
        for node in nodes:
            after = [stages[node], *(stage(each) for each in node.inputs)]
            stages[node] = max([*after, *(1 + stage(each) for each in mentioned[node])])
        if stages == before:
            return stages
    raise BadArgument("a data-dependent size is told by a tensor of that size")


def changed(
    inputs: Iterable[Tensor], nodes: Iterable[Node], change: Callable[[Expr], Size]
) -> dict[Tensor, Tensor]:
    """For each tensor whose sizes change, or those of what it is computed from, the new one."""
    new: dict[Tensor, Tensor] = {}
    for each in inputs:
        type_ = resized(each.made_type, change)
        if type_ != each.made_type:
            new[each] = Tensor(type_, each.device, each.storage, None, each.name)
    for node in nodes:
        op = node.op.with_sizes(change)
        if op == node.op and not any(each in new for each in node.inputs):
            continue
        made = Node(op, tuple(new.get(each, each) for each in node.inputs), node.place, node.device)
        for old, now in zip(node.outputs, made.outputs, strict=True):
            now.name = old.name
            new[old] = now
    return new
