"""The contract's cases as PyTorch's modules."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.export import Dim
from torch.nn import functional

import hidet_torch
from hidet.testing.frontend_author import Array, InNumpy
from hidet.testing.frontend_cases import Case


@torch.library.custom_op("contract::doubled", mutates_args=())
def doubled(x: Tensor) -> Tensor:
    """What the compiler lacks."""
    return x * 2


doubled.register_fake(torch.empty_like)


class Collector(InNumpy):
    """Finds every tensor that a case holds: both branches, and the body of iterations that are
    none."""

    def __init__(self) -> None:
        self.held: list[Array] = []

    def constant(self, array: Array) -> Array:
        self.held.append(np.asarray(array))
        return super().constant(np.asarray(array))

    def if_(self, condition: Any, then: Any, otherwise: Any, *read: Any) -> Any:
        otherwise(*read)
        return then(*read)

    def repeat(self, iterations: Any, body: Callable[..., Any], x: Any, *read: Any) -> Any:
        return body(x, *read)


class Model(nn.Module):
    """A case with what it holds as buffers."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case, collector = case, Collector()
        case.build(collector, *case.inputs())
        for each in collector.held:
            if name_of(each) not in dict(self.named_buffers()):
                self.register_buffer(name_of(each), torch.from_numpy(each.copy()))

    def forward(self, *inputs: Tensor) -> Any:
        return self.case.build(InTorch(self, inputs[0].device), *inputs)


def name_of(array: Array) -> str:
    """The name of the buffer that holds an array."""
    return f"held{hash((array.shape, array.tobytes())):x}".replace("-", "_")


class InTorch:
    """Each operator as PyTorch's."""

    add, subtract, multiply, divide = torch.add, torch.sub, torch.mul, torch.div
    maximum, exp, tanh, less, matmul = torch.maximum, torch.exp, torch.tanh, torch.lt, torch.matmul
    relu, sigmoid, where, softmax = torch.relu, torch.sigmoid, torch.where, torch.softmax
    transpose, reshape, argmax = torch.permute, torch.reshape, torch.argmax
    concat, expand = torch.cat, staticmethod(torch.broadcast_to)
    attention = staticmethod(functional.scaled_dot_product_attention)
    avg_pool = staticmethod(functional.avg_pool2d)
    max_pool = staticmethod(functional.max_pool2d)

    def __init__(self, model: Model, device: torch.device) -> None:
        self.model, self.device = model, device

    def constant(self, array: Array) -> Tensor:
        if torch.compiler.is_dynamo_compiling():  # which reads the bodies of control flow
            return torch.as_tensor(array).to(self.device)
        return self.model.get_buffer(name_of(np.asarray(array)))

    def to_int(self, x: Tensor) -> Tensor:
        return x.to(torch.int32)

    def sum(self, x: Tensor, axes: Sequence[int], keepdims: bool = False) -> Tensor:
        return x.sum(tuple(axes), keepdim=keepdims)

    def mean(self, x: Tensor, axes: Sequence[int], keepdims: bool = False) -> Tensor:
        return x.mean(tuple(axes), keepdim=keepdims)

    def max(self, x: Tensor, axes: Sequence[int], keepdims: bool = False) -> Tensor:
        return x.amax(tuple(axes), keepdim=keepdims)

    def layer_norm(self, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return functional.layer_norm(x, weight.shape, weight, bias)

    def conv(self, x: Tensor, weight: Tensor, stride: int, padding: int, groups: int = 1) -> Tensor:
        return functional.conv2d(x, weight, None, stride, padding, groups=groups)

    def slice(self, x: Tensor, axis: int, start: int, stop: int, step: int = 1) -> Tensor:
        return x[(*[slice(None)] * axis, slice(start, stop, step))]

    def gather(self, x: Tensor, index: Tensor, axis: int) -> Tensor:
        return x[(*[slice(None)] * axis, index)]

    def size(self, x: Tensor, axis: int) -> Any:
        return x.shape[axis]

    def nonzero(self, x: Tensor) -> Tensor:
        return x.nonzero()

    def compress(self, x: Tensor, mask: Tensor) -> Tensor:
        return x[mask]

    def size_from(self, x: Tensor) -> Any:
        found = x.item()
        torch._check(found >= 0)
        return found

    def if_(
        self,
        condition: Tensor,
        then: Callable[..., Tensor],
        otherwise: Callable[..., Tensor],
        *read: Tensor,
    ) -> Any:
        return torch.cond(condition, then, otherwise, read)

    def repeat(self, iterations: Any, body: Callable[..., Tensor], x: Tensor, *read: Tensor) -> Any:
        def goes_on(iteration: Tensor, x: Tensor) -> Any:
            return iteration < iterations

        def following(iteration: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
            return iteration + 1, body(x, *read)

        start = torch.zeros((), dtype=torch.int64, device=x.device)
        return torch._higher_order_ops.while_loop(goes_on, following, (start, x.clone()))[1]

    def foreign(self, x: Tensor) -> Tensor:
        return doubled(x)


class Called:
    """A compiled model that takes and gives arrays."""

    def __init__(self, case: Case, device: str, **options: Any) -> None:
        shapes = tuple(
            {axis: dim(case, position, axis) for axis in case.varying.get(position, {})}
            for position in range(len(case.shapes))
        )
        inputs = [torch.from_numpy(np.asarray(each)).to(device) for each in case.inputs()]
        self.device = device
        self.model = hidet_torch.compile(
            Model(case).to(device),
            *inputs,
            dynamic_shapes=(shapes,) if case.varying else None,
            **options,
        )

    def __call__(self, *inputs: Array) -> list[Array]:
        found = self.model(*(torch.from_numpy(np.asarray(each)).to(self.device) for each in inputs))
        return [each.cpu().numpy() for each in (found if isinstance(found, tuple) else (found,))]

    def save(self, path: str | os.PathLike[str]) -> None:
        self.model.save(path)


def dim(case: Case, position: int, axis: int) -> Dim:
    """An axis whose size varies; torch.export asks for the least if a case computes less by it."""
    least = min(shapes[position][axis] for shapes in (case.shapes, *case.others))
    return Dim(case.varying[position][axis], min=least)


class TorchAuthor:
    """Writes and compiles the cases."""

    unsupported = "doubled"

    def compile(self, case: Case, device: str, **options: Any) -> Called:
        return Called(case, device, **options)
