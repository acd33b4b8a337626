"""Why operators do not share a kernel: each question is answered by a reason, or by nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hidet.compute import Definition, Grid, Input
from hidet.compute.sizes import same_shape
from hidet.fusion.compose import compose, operands
from hidet.fusion.epilogue_definition import EpilogueDefinition
from hidet.fusion.group import Group
from hidet.fusion.moves import landing
from hidet.fusion.regions import Regions
from hidet.fusion.repeating import read_by_windows, repeatable, summed_again, weight
from hidet.fusion.roles import Role, Roles
from hidet.fusion.traits import cheap, evens_rows, lands, looks_up, moves_only, read_by_all
from hidet.graph.tensor import Node, Tensor
from hidet.ops.products.attention import Attention
from hidet.optimize.separate_outputs import is_view
from hidet.schedules.automatic.plan import Stage, has_long_columns, plan, row_kinds

MOST = 24
"""Operators that compute in one group: beyond that a kernel's text and registers grow faster than
the gain. Those that only move elements are not counted."""

ELSEWHERE = "it needs elements that another thread of the kernel computes"


class Reasons:
    """The reasons in one graph, by the roles and regions of its operators."""

    def __init__(self, roles: Roles, regions: Regions) -> None:
        self.roles, self.users, self.order = roles, regions.users, regions.order

    def apart(self, group: Group, tensor: Tensor, node: Node) -> str:
        """Why `node`, the only reader of the group's result, may not follow in it; else nothing."""
        if node.device != group.last.device:
            return "it runs on another device"
        if self.roles.injective(group):  # no anchor: the definitions are composed
            return summed_again(group, tensor, node)
        places = [place for place, each in enumerate(node.inputs) if each is tensor]
        alone = len(places) == 1 and not self.parts(group)
        straight = lands(node.op, places[0]) if alone else self.all_land(group, [node])
        return "" if straight or self.one_pass(group, [node]) else ELSEWHERE

    def parts(self, group: Group) -> bool:
        """Whether ways part in a group: then its result may be made of neighbours of its anchor's,
        and what lands where these are, as columns of size 1 do, need not land from there."""
        made = (each for node in group.nodes for each in node.outputs)
        return group.anchor is not None and any(len(self.users.get(each, ())) > 1 for each in made)

    def one_pass(self, group: Group, nodes: list[Node]) -> bool:
        """Whether a reduction is one kernel with `nodes`, which read its rows again, as a norm
        does, or reduce them once more."""
        if group.anchor is not None or weight([*group.nodes, *nodes]) > MOST:
            return False
        rows = {*group.inputs, *(each for node in group.nodes for each in node.outputs)}
        rows.difference_update(group.results)
        again = any(each in rows for node in nodes for each in node.inputs)
        return (again or self.roles.reduce(nodes)) and self.short([*group.nodes, *nodes])

    def divides(self, group: Group, inside: list[Node], reserved: Collection[Node]) -> str:
        """Why the operators between a result and where its ways meet may not join; else nothing.

        `reserved` are those that belong to a group already.
        """
        if any(each.device != group.last.device for each in inside):
            return "some run on another device"
        if not self.roles.of_rows(inside):
            return "an operator with a schedule of its own lies between"
        if any(each in reserved for each in inside):
            return "they belong to another group"
        if weight(group.nodes) + weight(inside) > MOST:
            return "there are too many operators between"
        if self.roles.reduce(inside):
            if group.anchor is not None:
                return "a reduction lies between"
            return "" if self.stages([*group.nodes, *inside]) == 1 else "it takes several kernels"
        if self.roles.injective(group):
            return ""
        fits = self.all_land(group, inside) or self.one_pass(group, inside)
        return "" if fits else ELSEWHERE

    def stored(self, chain: Group, tensor: Tensor, node: Node, role: Role) -> str:
        """Why the result of `chain` is stored for `node` to read; else nothing."""
        if node.device != chain.last.device:
            return "it runs on another device"
        if not self.roles.injective(chain):
            return f"an element of {self.whole(chain)} takes many others: it is computed once"
        if all(is_view(each) for made in chain.nodes for each in made.outputs):
            return "a new shape of what lies in memory costs nothing there"
        if why := summed_again(chain, tensor, node) or read_by_windows(tensor, node):
            return why
        readers = len(self.users[tensor])
        straight = role is Role.INJECTIVE and same_shape(tensor.shape, node.outputs[0].shape)
        straight = straight or role is Role.UPDATE
        if readers > 1 and not repeatable(chain, readers, straight):
            return f"{readers} operators read it, and it is computed once for them"
        if role is Role.ANCHOR and not all(cheap(each.op) for each in chain.nodes):
            return "its functions would be computed for every tile"
        if evens_rows(chain.last.op, node.op):
            return "its rows are even in memory"
        if isinstance(node.op, Attention) and any(looks_up(each.op) for each in chain.nodes):
            # Attention has few threads, each of which would wait for one lookup after the other.
            return "its lookups are better done by many threads"
        if role is Role.ANCHOR and not all(moves_only(each.op) for each in chain.nodes):
            places = [place for place, each in enumerate(node.inputs) if each is tensor]
            if any(read_by_all(node.op, place) for place in places):
                return "it would be computed in every block"
        return ""

    def whole(self, chain: Group) -> str:
        """The operator of a group that takes many elements for one."""
        found = [each for each in chain.nodes if self.roles.of(each.op) is not Role.INJECTIVE]
        return found[-1].op.name

    def short(self, nodes: list[Node]) -> bool:
        """Whether operators are one kernel of rows, or of columns that one block may take."""
        return self.same_rows(nodes) and not has_long_columns(self.planned(nodes)[0])

    def same_rows(self, nodes: list[Node], results: Sequence[Tensor] = ()) -> bool:
        """Whether operators are one kernel, all of whose reductions are of the same rows."""
        stages = self.planned(nodes, results)
        return len(stages) == 1 and len(row_kinds(stages[0])) <= 1

    def stages(self, nodes: list[Node], results: Sequence[Tensor] = ()) -> int:
        """How many kernels the automatic schedule makes of operators together."""
        return len(self.planned(nodes, results))

    def planned(self, nodes: list[Node], results: Sequence[Tensor] = ()) -> list[Stage]:
        """These kernels, as stages.

        `results` are what they give, by default what the last one does.
        """
        made = {each for node in nodes for each in node.outputs}
        read = dict.fromkeys(each for node in nodes for each in node.inputs if each not in made)
        inputs = operands(list(read))
        known: dict[Tensor, Grid] = dict(inputs)
        nodes = sorted(nodes, key=self.order.__getitem__)
        grids = compose(nodes, known)
        asked = [grids[each] for each in results or nodes[-1].outputs]
        return plan(list(inputs.values()), asked).stages

    def all_land(self, group: Group, inside: list[Node]) -> bool:
        """Whether each element of the group's result goes to one known place of the last one's.

        Of an anchor's result a few neighbours may go to one place, as one thread may hold them.
        """
        if group.anchor is not None:
            whole = Group([*group.nodes, *inside], group.anchor)
            return EpilogueDefinition(whole).landings() is not None
        (tensor,) = group.results
        value = Input("value", tensor.type)
        made = {tensor, *(each for node in inside for each in node.outputs)}
        read = [each for node in inside for each in node.inputs if each not in made]
        inputs = operands(list(dict.fromkeys(read)))
        grids = compose(inside, {**inputs, tensor: value})
        definition = Definition((value, *inputs.values()), (grids[inside[-1].outputs[0]],))
        found = landing(definition, value)
        return found is not None and found.neighbours == 1
