"""How a model is called: which names are its inputs, and where each stands."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

import torch
from torch.utils._pytree import TreeSpec, tree_unflatten

from hidet.errors import BadArgument
from hidet_torch.settings import known_names

Inputs = tuple[tuple[Any, ...], dict[str, Any]]
"""Inputs by position, and those by name."""


def separated(
    model: torch.nn.Module, keywords: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The inputs that `forward` takes by name among some keywords, and the rest: options.

    A name that is both is the option's: give such an input by its position.
    """
    if not isinstance(model, torch.nn.Module):
        raise BadArgument(
            f"hidet_torch.compile takes a torch.nn.Module, not {type(model).__name__}",
            help='torch.compile(function, backend="hidet") takes functions',
        )
    if not keywords:
        return {}, {}
    kinds = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    parameters = signature(model.forward).parameters
    taken = {name for name, each in parameters.items() if each.kind in kinds}
    inputs = taken.difference(known_names())
    return (
        {name: value for name, value in keywords.items() if name in inputs},
        {name: value for name, value in keywords.items() if name not in inputs},
    )


def placed(model: torch.nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> Inputs:
    """The same call with inputs by position as far as `forward` lets them be."""
    if not named:
        return inputs, named
    try:
        found = signature(model.forward).bind(*inputs, **named)
    except TypeError as error:
        raise BadArgument(f"{type(model).__name__}.forward: {error}") from None
    return found.args, found.kwargs


def spelled(spec: TreeSpec) -> str:
    """A call of that structure as it is written, with * for each leaf."""
    inputs, named = tree_unflatten(["*"] * spec.num_leaves, spec)
    parts = [*map(repr, inputs), *(f"{name}={value!r}" for name, value in named.items())]
    return f"({', '.join(parts)})".replace("'*'", "*")
