"""Giving back the memory of weights that calls read only in another form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from hidet_torch.converters.whole import LINEAR
from hidet_torch.importing.imported import Imported
from hidet_torch.weights.aliasing import alias_weights
from hidet_torch.weights.weight import Weight, is_gone, lies_in
from hidet_torch.weights.weights import LIVE, Weights

ATEN = torch.ops.aten
RAISING = frozenset(
    {
        LINEAR,
        ATEN.t.default,
        ATEN.transpose.int,
        ATEN.permute.default,
        ATEN.mm.default,
        ATEN.addmm.default,
        ATEN.bmm.default,
        ATEN.linear.default,
        ATEN.convolution.default,
        ATEN.embedding.default,
    }
)
"""Operators that raise for a tensor without memory; others of PyTorch would read it all the same,
and end the process."""


def donate(
    weights: Weights, imported: Imported, frozen: Mapping[torch.fx.Node, torch.Tensor]
) -> int:
    """Give back the memory of the model's weights that nothing reads any more; how many bytes.

    Weights of which a derived constant consists become parts of it. Others whose other form (cast,
    packed, folded) is what calls read are gone. A weight stays where its memory is shared with
    anything else, and where PyTorch could not tell the user that it is gone.
    """
    saved = alias_weights(weights)
    weights.alias_again = alias_weights
    guarded = {id(tensor) for node, tensor in frozen.items() if only_raising(node)}
    assert weights.runner is not None
    runner = weights.runner
    gone: dict[str, torch.Tensor] = {}
    for name, tensor in runner.weights.items():
        weight = weights.by_tensor[tensor]
        is_read = name in runner.direct and lies_in(weight.memory, weight.source)
        is_lent = name in weights.lent
        if id(weight.source) in guarded and not (is_read or is_lent) and is_whole(weight.source):
            gone[name] = weight.source
    kept = {place(each.source) for each in others(weights, set(gone))}
    gone = {name: source for name, source in gone.items() if place(source) not in kept}
    weights.give_up(gone)
    return saved + sum(map(released, gone.values()))


def only_raising(node: torch.fx.Node) -> bool:
    """Whether all that the model does with a weight would raise without its memory."""
    return all(user.target in RAISING for user in node.users)


def is_whole(source: torch.Tensor) -> bool:
    """Whether a tensor is all there is in its memory, which can be given back."""
    storage = source.untyped_storage()
    nbytes = source.numel() * source.element_size()
    return nbytes > 0 and storage.nbytes() == nbytes and storage.resizable()


def others(weights: Weights, gone: set[str]) -> Iterator[Weight]:
    """The weights that stay: of this graph, and of all others there are."""
    for each in list(LIVE):
        if each.runner is None:
            continue
        for name, tensor in each.runner.weights.items():
            left = name not in (gone if each is weights else each.given_up)
            if left and not is_gone(each.by_tensor[tensor].source):
                yield each.by_tensor[tensor]


def place(source: torch.Tensor) -> int:
    """Where the memory of a tensor begins."""
    return source.untyped_storage().data_ptr()


def released(source: torch.Tensor) -> int:
    """Give a tensor's memory back; how many bytes. What writes to it from now on raises."""
    storage = source.untyped_storage()
    nbytes = storage.nbytes()
    torch._C._set_throw_on_mutable_data_ptr(source)
    storage.resize_(0)
    return nbytes
