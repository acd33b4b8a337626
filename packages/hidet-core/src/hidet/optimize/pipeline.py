"""Which passes change a graph, in order, each with the reason for its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from hidet import options
from hidet.graph.flow import FlowGraph
from hidet.graph.operator import Op
from hidet.ops.windows.conv import Conv
from hidet.optimize.bodies import optimize_bodies
from hidet.optimize.control import settle_control
from hidet.optimize.find.activations import find_activations
from hidet.optimize.find.attention import find_attention
from hidet.optimize.find.norms import find_norms
from hidet.optimize.find.read_masks import read_masks
from hidet.optimize.find.recurrent_cells import recurrent_cells
from hidet.optimize.instruments import GraphPass, Observer, instruments
from hidet.optimize.layout.assign_layout import assign_layout
from hidet.optimize.layout.channels_first import channels_first
from hidet.optimize.layout.channels_last import Saving, no_saving
from hidet.optimize.layout.even_rows import even_rows
from hidet.optimize.merge.duplicate_creators import duplicate_creators
from hidet.optimize.merge.fold_scale import fold_scale
from hidet.optimize.merge.gates import merge_gates
from hidet.optimize.merge.hand_norms import hand_norms
from hidet.optimize.merge.horizontal import merge_horizontally
from hidet.optimize.merge.share_results import share_results
from hidet.optimize.normalize import normalize
from hidet.optimize.precision.integer_matmuls import integer_matmuls
from hidet.optimize.precision.keep_bytes import keep_bytes
from hidet.optimize.precision.lower_precision import lower_precision
from hidet.optimize.precision.requantize import requantize
from hidet.optimize.precision.unpack_weights import unpack_weights
from hidet.optimize.precision.unsigned_bytes import unsigned_bytes
from hidet.optimize.separate_outputs import separate_outputs
from hidet.optimize.spell_attention import spell_attention
from hidet.optimize.spell_norms import spell_norms
from hidet.optimize.unflatten_batch import unflatten_batch

PASSES: tuple[GraphPass, ...] = (
    settle_control,  # first: what it writes out is changed with all that is around it
    recurrent_cells,  # before bodies are changed: it looks for what frontends write
    optimize_bodies,  # by all passes, before those that look at what is around them
    normalize,  # before the others: what undoes itself hides what the others look for
    unflatten_batch,  # before attention is found, which has heads in an axis of their own
    unsigned_bytes,  # before bytes are multiplied: unsigned ones may need no zero point
    integer_matmuls,  # while what dequantizes operands stands right before their readers
    keep_bytes,  # likewise: operators between bytes are one by one what it looks for
    requantize,  # after both: they look for scales as frontends give them
    unpack_weights,  # before whatever looks for linear layers
    share_results,  # equal operands become one tensor: so matmuls of one operand are found
    find_norms,  # equal tensors are one by now; before factors of channels go into weights
    find_activations,  # before matmuls are merged, which end in functions of one operand
    channels_first,  # norms over last channels are found by now; axis 1 is what others look at
    fold_scale,  # before matmuls are merged: a norm of one of them would stand in their way
    find_attention,  # while its products are apart from others
    read_masks,  # whichever way attention was found
    lower_precision,  # after scales are folded, and on attention as a whole
    merge_gates,  # before merge_horizontally: those that meet again had better take turns
    merge_horizontally,  # sees attention whole: its operands are what is merged
    hand_norms,  # after matmuls are merged: fewer matmuls read a norm
    assign_layout,  # after norms are folded and matmuls merged: those look at axis 1 for channels
    spell_attention,  # it makes products and a softmax, which partition sees
    spell_norms,  # what no weight took in, wherever its channels are by now
    even_rows,  # of all products that there are by now, of which no pass looks at operands again
    normalize,  # what the passes above left: shapes of shapes
    separate_outputs,  # before creators are copied: its own nodes read none
    duplicate_creators,  # last: whatever reads a constant made on the way gets its own
)

__all__ = ["PASSES", "GraphPass", "Observer", "optimize"]


def optimize(
    graph: FlowGraph,
    observers: Iterable[Observer] = (),
    scheduled: Callable[[Op], bool] = lambda op: False,
    channels_last: Callable[[Conv], bool] = lambda op: False,
    saving: Saving = no_saving,
    suits: Callable[[Op, Op], bool] = lambda op, product: False,
    faster: Callable[[Op, Op], bool] = lambda op, other: False,
    padding: Saving = no_saving,
) -> FlowGraph:
    """The graph after all passes, each shown to all observers; the given one is not changed.

    `scheduled` says which operators the target computes whole: those are not spelled out, unless
    the option `attention` is off. `channels_last` says which convolutions gain by that layout,
    `saving` what another operator saves for which tensors are yet to be written, `suits`
    whether a product with a norm in it is computed as it would be without, `faster` whether an
    operator is no slower than another one, `padding` what a product saves on even rows.
    """
    watching = (*observers, *instruments(graph))
    whole = scheduled if options.attention.get() else lambda op: False

    def inside(body: FlowGraph) -> FlowGraph:
        return optimize(body, (), scheduled, channels_last, saving, suits, faster, padding)

    advised: dict[GraphPass, GraphPass] = {
        optimize_bodies: partial(optimize_bodies, run=inside),
        integer_matmuls: partial(integer_matmuls, faster=faster),
        unpack_weights: partial(unpack_weights, scheduled=scheduled),
        spell_attention: partial(spell_attention, scheduled=whole),
        hand_norms: partial(hand_norms, suits=suits),
        assign_layout: partial(assign_layout, prefers=channels_last, saving=saving),
        even_rows: partial(even_rows, saving=padding),
    }
    for each in PASSES:
        graph = advised.get(each, each)(graph)
        for observer in watching:
            observer(each, graph)
    return graph
