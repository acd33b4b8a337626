"""How the values that an fx graph returns leave a FlowGraph: fresh, or as aliases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from hidet import ops
from hidet.frontend.running.results import Results
from hidet.graph import Tensor
from hidet_torch.importing.imported import Alias, Mutation, Output
from hidet_torch.importing.sizes import Sizes
from hidet_torch.memory.strides import hint, order_of


class TorchResults(Results):
    """The outputs of an fx graph, in fresh memory or in that of an input or of one another."""

    def __init__(
        self,
        values: Mapping[torch.fx.Node, Any],
        number: Callable[[Any], Any],
        fixed: set[Any],
        sizes: Sizes,
    ) -> None:
        super().__init__()
        self.values, self.number, self.fixed, self.has_data_sizes = (
            values,
            number,
            fixed,
            sizes.has_data_sizes,
        )

    def outputs(self, nodes: Sequence[Any], placeholders: Sequence[torch.fx.Node]) -> list[Output]:
        """Every value that the graph returns."""
        bases = {
            storage(each.meta["val"]): (position, each.meta["val"])
            for position, each in enumerate(placeholders)
            if isinstance(each.meta.get("val"), torch.Tensor) and each not in self.fixed
        }
        examples = [
            each.meta.get("val") if isinstance(each, torch.fx.Node) else None for each in nodes
        ]
        shared: dict[int, list[torch.Tensor]] = {}
        for example in dict(zip(nodes, examples, strict=True)).values():
            if isinstance(example, torch.Tensor):
                shared.setdefault(storage(example), []).append(example)
        found: list[Output] = []
        for node, example in zip(nodes, examples, strict=True):
            value = self.values[node] if isinstance(node, torch.fx.Node) else node
            if not isinstance(example, torch.Tensor) or not isinstance(value, Tensor):
                found.append(Output(None, self.number(value if example is None else example)))
            elif storage(example) in bases:
                found.append(Output(None, alias=self.of_input(example, *bases[storage(example)])))
            else:
                found.append(self.fresh(value, example, shared[storage(example)]))
        return found

    def fresh(self, value: Tensor, example: torch.Tensor, group: Sequence[torch.Tensor]) -> Output:
        """A result in new memory, which others may share and which may have gaps."""
        order = order_of(example)
        # Where data tell how large memory is nobody can share it: each result has its own.
        data_sizes = any(map(self.has_data_sizes, example.shape))
        alone = data_sizes or (len(group) == 1 and order is not None)
        laid = order or tuple(range(example.ndim))
        whole = (*laid, *range(example.ndim, value.ndim))
        index = self.add(value if whole == tuple(range(value.ndim)) else ops.permute(value, whole))
        shared = None if alone else self.of_group(example, group)
        shape = [example.shape[axis] for axis in laid] + [2] * example.is_complex()
        sizes = None if data_sizes else tuple(map(self.number, shape))
        return Output(index, None, laid, sizes, example.is_complex(), shared)

    def mutation(self, position: int, value: Tensor) -> Mutation:
        """A write into an argument."""
        return Mutation(position, self.add(value))

    def of_input(self, example: torch.Tensor, position: int, base: torch.Tensor) -> Alias:
        """A result that is a view of an argument; its offset counts from the argument's own."""
        start = base.storage_offset() * base.dtype.itemsize // example.dtype.itemsize
        return self.alias(example, position, 0, example.storage_offset() - start)

    def of_group(self, example: torch.Tensor, group: Sequence[torch.Tensor]) -> Alias:
        """A result in memory shared with others; it is as large as what they reach."""
        nbytes = max(map(reach, group), key=hint)
        return self.alias(example, None, nbytes, example.storage_offset())

    def alias(self, example: torch.Tensor, position: int | None, extent: Any, offset: Any) -> Alias:
        """Where a result lies."""
        return Alias(
            position,
            storage(example),
            self.number(extent),
            example.dtype,
            tuple(map(self.number, example.shape)),
            tuple(map(self.number, example.stride())),
            self.number(offset),
        )


def storage(value: torch.Tensor) -> int:
    """Which memory an example value lies in."""
    return int(value.untyped_storage()._cdata)


def reach(value: torch.Tensor) -> Any:
    """Up to which byte of its memory a tensor reaches."""
    last = value.storage_offset()
    for size, stride in zip(value.shape, value.stride(), strict=True):
        last = last + (size - 1) * stride
    return (last + 1) * value.dtype.itemsize
