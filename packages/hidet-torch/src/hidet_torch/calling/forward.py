"""How a model is called: which names are its inputs, and where each stands."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from inspect import Parameter, Signature, signature
from typing import Any

import torch
from torch.utils._pytree import TreeSpec

from hidet.errors import BadArgument
from hidet_torch.calling.structures import sample
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


class Forward:
    """How a model's `forward` takes its inputs, which takes longer to find out than a call."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model

    @cached_property
    def signature(self) -> Signature:
        """Asked for by who gives inputs by name."""
        return signature(self.model.forward)

    def placed(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> Inputs:
        """The same call with inputs by position as far as `forward` lets them be."""
        return self.require(inputs, named) if named else (inputs, named)

    def require(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> Inputs:
        """The same call as Python binds it; BadArgument if `forward` does not take it."""
        try:
            found = self.signature.bind(*inputs, **named)
        except TypeError as error:
            raise BadArgument(
                f"{type(self.model).__name__}.forward: {error}",
                help=f"its inputs are {self.signature}",
            ) from None
        return found.args, found.kwargs


class ProgramCall(Forward):
    """How an exported program takes its inputs: by position or by name as it was exported."""

    def __init__(self, model: torch.nn.Module, spec: TreeSpec) -> None:
        super().__init__(model)
        inputs, _ = sample(spec)
        self.count = len(inputs)

    def placed(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> Inputs:
        """The same call with those by position, and those by name, that the program has so."""
        if not named:
            return inputs, named
        given, others = self.require(inputs, named)
        names = list(self.signature.parameters)
        every = {**dict(zip(names, given, strict=False)), **others}
        by_name = {name: every.pop(name) for name in names[self.count :] if name in every}
        return tuple(every.values()), by_name


def spelled(spec: TreeSpec) -> str:
    """A call of that structure as it is written, with * for each leaf."""
    inputs, named = sample(spec)
    parts = [*map(repr, inputs), *(f"{name}={value!r}" for name, value in named.items())]
    return f"({', '.join(parts)})".replace("'*'", "*")
