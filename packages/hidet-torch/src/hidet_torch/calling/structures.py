"""Nested inputs and results, and objects among them that somebody told PyTorch to take apart."""

from __future__ import annotations

from typing import Any

from torch.utils._pytree import TreeSpec, tree_structure

from hidet.errors import BadArgument


def plain(spec: TreeSpec) -> TreeSpec:
    """The structure with tuples in the place of objects: as many leaves, in the same order."""
    return tree_structure(sample(spec))


def sample(spec: TreeSpec) -> Any:
    """Something of the plain structure."""
    if spec.is_leaf():
        return "*"
    parts = [sample(each) for each in spec.children()]
    if spec.type is dict:
        return dict(zip(spec.context, parts, strict=True))
    return parts if spec.type is list else tuple(parts)


def require_whole(spec: TreeSpec) -> None:
    """BadArgument for a cache of transformers whose windows slide: what takes it apart leaves out
    how many tokens it has read, which decides about positions and masks."""
    if spec.is_leaf():
        return
    match spec.context:
        case [_, [*windows]] if spec.type.__name__ == "DynamicCache" and any(windows):
            raise BadArgument(
                "a cache whose layers keep the last tokens: torch.export does not learn how many "
                "were read",
                help='torch.compile(model, backend="hidet") takes it; or call the model with '
                "use_cache=False",
            )
    for each in spec.children():
        require_whole(each)
