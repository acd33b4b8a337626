"""The interface of ONNX Runtime's sessions, so that a program changes one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hidet.errors import BadArgument
from hidet_onnx.dtypes import spelled
from hidet_onnx.importing.types import Declared
from hidet_onnx.model import compile
from hidet_onnx.reading.load import Given

DEVICES = {"CPUExecutionProvider": "cpu", "CUDAExecutionProvider": "cuda"}
"""Where ONNX Runtime's providers compute."""


@dataclass(frozen=True)
class NodeArg:
    """An input or a result: its name, its sizes (numbers, names, or None) and "tensor(float)"."""

    name: str
    shape: list[int | str | None]
    type: str


class InferenceSession:
    """A compiled model, called as an `onnxruntime.InferenceSession` is.

    `providers` are names of ONNX Runtime's; the first one says where the model is compiled for, by
    default the CPU. `options` are those of `hidet_onnx.compile`. BadArgument for another provider.
    """

    def __init__(
        self,
        model: Given,
        *,
        providers: Sequence[str] = ("CPUExecutionProvider",),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        first = next(iter(providers), "CPUExecutionProvider")
        if first not in DEVICES:
            raise BadArgument(
                f"there is no provider {first!r} here", help=f"there are {', '.join(DEVICES)}"
            )
        self.providers = [first]
        self.model = compile(model, device=DEVICES[first], options=options)

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any]
    ) -> list[np.ndarray[Any, Any]]:
        """The results of these names, or all of them, for inputs by name."""
        results = self.model.run(named=input_feed)
        if output_names is None:
            return results
        by_name = dict(zip((each.name for each in self.model.outputs), results, strict=True))
        for name in output_names:
            if name not in by_name:
                raise BadArgument(f"there is no result {name!r}", help=f"there are {list(by_name)}")
        return [by_name[name] for name in output_names]

    def get_inputs(self) -> list[NodeArg]:
        """The inputs that a call has to give."""
        return [*map(argument, self.model.inputs)]

    def get_outputs(self) -> list[NodeArg]:
        """The results."""
        return [*map(argument, self.model.outputs)]

    def get_providers(self) -> list[str]:
        """Where the model runs."""
        return list(self.providers)


def argument(declared: Declared) -> NodeArg:
    """What a file declares, as ONNX Runtime spells it."""
    kind = spelled(declared.code).lower()
    return NodeArg(declared.name, list(declared.shape or ()), f"tensor({kind})")
