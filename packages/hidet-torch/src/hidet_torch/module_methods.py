"""What a compiled model answers as its module does: weights, mode, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn, Self

import torch

from hidet.errors import BadArgument


class ModuleMethods:
    """The methods of `torch.nn.Module` that code around a model calls most."""

    module: torch.nn.Module
    training: bool
    """Whether the module was in training when it was compiled, which decides what it computes."""

    def parameters(self, recurse: bool = True) -> Iterator[torch.nn.Parameter]:
        """The parameters of the module, in whose memory the compiled model reads them."""
        return self.module.parameters(recurse)

    def state_dict(self, *args: Any, **named: Any) -> dict[str, Any]:
        """The state of the module."""
        found: dict[str, Any] = self.module.state_dict(*args, **named)
        return found

    def eval(self) -> Self:
        """The compiled model; as `train(False)`."""
        return self.train(False)

    def train(self, mode: bool = True) -> Self:
        """The compiled model, if it was compiled in this mode; BadArgument if in the other."""
        if mode == self.training:
            return self
        was, wanted = ("training", "eval") if self.training else ("eval", "train")
        raise BadArgument(
            f"the model was in {was} mode when it was compiled, and computes what that means",
            help=f"call {wanted}() of the model and compile that",
        )

    def to(self, *args: Any, **named: Any) -> NoReturn:
        """Refused: BadArgument. Kernels are for one device and for the types of their inputs."""
        raise BadArgument(
            "a compiled model stays on its device and keeps its types",
            help="move the model with to() and compile it with inputs like those it will get",
        )
