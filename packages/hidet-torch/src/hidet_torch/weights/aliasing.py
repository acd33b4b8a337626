"""Weights that lie inside of what was derived from them: the model's tensors become views of it.

Where a derived constant consists of whole weights that were only moved (query, key and value
projections one after the other, the two weights of a gated layer in turns), each of them is there
as rows and strides. So the model's tensor is set to be that part: nothing is in memory twice, the
model can be read, saved, run and written to as before, and what is written is in the constant at
once. PyTorch does the same to an LSTM's weights (`flatten_parameters`).

The tensor's old memory goes, which is why this is part of `steal_weights`: who kept its address (a
CUDA graph of one's own) would read what is no longer there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from hidet.frontend.running.execute import Slot
from hidet.types.strides import inverse
from hidet_torch.memory.tensors import tensor_of
from hidet_torch.weights.weight import Weight, is_gone, is_same
from hidet_torch.weights.weights import LIVE, Weights


def alias_weights(weights: Weights) -> int:
    """Let weights lie in what is derived of them, where they can; how many bytes that saves.

    Where Dynamo guards the strides of the model's tensors, these stay as they are.
    """
    runner = weights.runner
    assert runner is not None
    uses = runner.uses()
    slots = {
        slot.weight: slot
        for slot in runner.slots()
        if slot.weight not in runner.direct and uses[slot.weight] == 1
    }
    shared = places_of_others(weights)
    freed = 0
    for name, slot in slots.items():
        weight = weights.by_tensor[runner.weights[name]]
        part = part_of(slot, weight)
        if name in weights.given_up or part is None:
            continue
        if not is_same(weight.source, part):
            turned = part.stride() != weight.source.stride()
            if (turned and weights.strides_stay) or not is_alone(weight.source, shared):
                continue
            freed += weight.source.untyped_storage().nbytes()
            with torch.no_grad():
                weight.source.set_(part)
        weights.lent[name] = part
    weights.hold_less()
    return freed


def part_of(slot: Slot, weight: Weight) -> torch.Tensor | None:
    """The part of a derived constant where a weight lies, with its axes as the model has them."""
    source = weight.source
    whole = tensor_of(slot.inside)
    if source.is_complex() or source.is_inference() or source.dtype != whole.dtype:
        return None
    if whole.device != source.device:
        return None
    back = inverse(weight.order)
    strides = [slot.strides[axis] for axis in back]
    return whole.as_strided(source.shape, strides, whole.storage_offset() + slot.offset)


def is_alone(source: torch.Tensor, shared: Iterable[int]) -> bool:
    """Whether a tensor is all there is in its memory, and no other weight lies there."""
    storage = source.untyped_storage()
    nbytes = source.numel() * source.element_size()
    return 0 < nbytes == storage.nbytes() and storage.data_ptr() not in shared


def places_of_others(weights: Weights) -> Sequence[int]:
    """Where several tensors of the model lie in one piece of memory, here or in other graphs."""
    known: dict[int, set[int]] = {}
    for each in (weights, *LIVE):
        for source in (weight.source for weight in each.by_tensor.values()):
            if not is_gone(source):
                known.setdefault(source.untyped_storage().data_ptr(), set()).add(id(source))
    return [place for place, tensors in known.items() if len(tensors) > 1]
