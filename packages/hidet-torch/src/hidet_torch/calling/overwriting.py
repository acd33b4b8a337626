"""Inputs that a model changes as a whole: results that had best be written where these lie."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hidet_torch.importing.imported import Imported, Update


def overwritten(imported: Imported) -> dict[int, int]:
    """For outputs that only change an argument the inputs which these arguments are.

    An argument that lies otherwise than the graph has it is no such input, and an output that is
    returned too, or that several arguments become, is to be copied.
    """
    times = Counter([each.index for each in imported.mutations])
    times.update([each.index for each in imported.outputs if each.index is not None])
    inputs = {each.position: (number, each) for number, each in enumerate(imported.inputs)}
    found: dict[int, int] = {}
    for mutation in imported.mutations:
        number, live = inputs[mutation.position]
        plain = live.order == tuple(range(len(live.order))) and live.device == imported.device
        if plain and not live.complex and times[mutation.index] == 1:
            found[mutation.index] = number
    return found


def as_written(imported: Imported, over: frozenset[int]) -> Imported:
    """The interface of a graph that writes some outputs where its inputs lie.

    These do not come out, and those after them have other numbers then.
    """
    wanted = overwritten(imported)
    done = [each for each in imported.mutations if each.index in over]
    left = [each for each in imported.mutations if each.index not in over]
    first = len(imported.dtypes) - len(imported.updates)
    come = [index for index in range(first) if index not in over]
    number = {index: place for place, index in enumerate(come)}
    kept = [*come, *range(first, len(imported.dtypes))]
    updates = [Update(each.position, wanted[each.index]) for each in done]
    return replace(
        imported,
        outputs=[
            each if each.index is None else replace(each, index=number[each.index])
            for each in imported.outputs
        ],
        mutations=[replace(each, index=number[each.index]) for each in left],
        updates=[*imported.updates, *updates],
        dtypes=[
            *(imported.dtypes[index] for index in kept),
            *(imported.dtypes[e.index] for e in done),
        ],
    )
