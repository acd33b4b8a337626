"""Regions that need gradients: compiled as for inference, and run by PyTorch once these are taken.

Models are often called for inference by who forgot `torch.no_grad()`. So a region is compiled
without gradients all the same; where one is asked for, PyTorch computes the region again and then
its gradients, and from then on the region is PyTorch's: who trains gains nothing from both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd.function import once_differentiable

from hidet.frontend.importing.report import FallbackWarning
from hidet_torch.calling.caller import warn


class CannotRepeat(Exception):
    """A region would not compute the same, or change things twice, if it ran again."""


class Region:
    """A region as Dynamo calls it; `compiled` is the same without gradients."""

    def __init__(self, module: torch.fx.GraphModule, compiled: Callable[..., Any]) -> None:
        self.module, self.compiled = module, compiled
        self.is_trained = False
        self.needs_gradient = [
            getattr(each, "requires_grad", False) for each in example_outputs(module)
        ]

    def __call__(self, *args: Any) -> Any:
        """The results, from which gradients can be taken."""
        if self.is_trained:
            return self.module(*args)
        return Repeated.apply(self, *args)


class Repeated(torch.autograd.Function):
    """A compiled region whose gradients are those of PyTorch running it again."""

    @staticmethod
    def forward(ctx: Any, region: Region, *args: Any) -> tuple[Any, ...]:
        found = tuple(region.compiled(*args))
        is_tensor = [isinstance(each, torch.Tensor) for each in args]
        ctx.region, ctx.is_tensor = region, is_tensor
        ctx.save_for_backward(*(a for a, tensor in zip(args, is_tensor, strict=True) if tensor))
        ctx.others = [a for a, tensor in zip(args, is_tensor, strict=True) if not tensor]
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(
            *(
                each
                for each, needs in zip(found, region.needs_gradient, strict=True)
                if isinstance(each, torch.Tensor) and not needs
            )
        )
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: torch.Tensor | None) -> tuple[Any, ...]:
        tell(ctx.region)
        tensors, others = iter(ctx.saved_tensors), iter(ctx.others)
        needed = ctx.needs_input_grad[1:]
        args = [
            next(tensors).detach().requires_grad_(needs) if tensor else next(others)
            for tensor, needs in zip(ctx.is_tensor, needed, strict=True)
        ]
        with torch.enable_grad():
            results = ctx.region.module(*args)
        pairs = [(r, g) for r, g in zip(results, grads, strict=True) if g is not None]
        wanted = [arg for arg, needs in zip(args, needed, strict=True) if needs]
        made = iter(torch.autograd.grad(
            [result for result, _ in pairs], wanted, [grad for _, grad in pairs], allow_unused=True
        ))  # fmt: skip
        return (None, *(next(made) if needs else None for needs in needed))


def tell(region: Region) -> None:
    """Leave the region to PyTorch from now on, and tell the user once."""
    if not region.is_trained:
        region.is_trained = True
        warn(
            FallbackWarning(
                "gradients were taken of a compiled region: it runs in PyTorch from now on, "
                "as hidet compiles for inference"
            )
        )


def may_repeat(module: torch.fx.GraphModule) -> bool:
    """Whether a graph of Dynamo's can be a `Region`: no result lies in an input's memory."""
    given = {
        place(example)
        for node in module.graph.find_nodes(op="placeholder")
        if isinstance(example := node.meta.get("example_value"), torch.Tensor)
    }
    made = [each for each in example_outputs(module) if isinstance(each, torch.Tensor)]
    lowered = torch.is_autocast_enabled("cuda") or torch.is_autocast_enabled("cpu")
    return not lowered and all(place(each) not in given for each in made)


def require_repeatable(traced: torch.fx.GraphModule) -> None:
    """Raise CannotRepeat if the graph draws random numbers or writes to its arguments."""
    for node in traced.graph.find_nodes(op="call_function", target=torch.ops.aten.copy_.default):
        raise CannotRepeat(str(node))
    for node in traced.graph.nodes:
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            raise CannotRepeat(str(node))


def example_outputs(module: torch.fx.GraphModule) -> Sequence[Any]:
    """What Dynamo knows of each result of a graph."""
    (results,) = module.graph.output_node().args
    assert isinstance(results, tuple | list)
    return [
        each.meta.get("example_value") if isinstance(each, torch.fx.Node) else each
        for each in results
    ]


def place(example: torch.Tensor) -> int:
    """Which memory an example value lies in."""
    return int(example.untyped_storage()._cdata)
