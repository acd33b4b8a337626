"""The interface of ONNX Runtime's sessions, so that a program changes one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from hidet.build.target import target_on
from hidet.errors import BadArgument, HidetError
from hidet.errors.warning import warn
from hidet_onnx.binding import IOBinding
from hidet_onnx.dtypes import spelled
from hidet_onnx.importing.types import Declared
from hidet_onnx.model import compile
from hidet_onnx.reading.load import Given

DEVICES = {"CPUExecutionProvider": "cpu", "CUDAExecutionProvider": "cuda"}
"""Where ONNX Runtime's providers compute."""
Provider: TypeAlias = "str | tuple[str, Mapping[str, Any]]"
"""A provider by name, or with its options, of which `device_id` is read."""


class ProviderWarning(UserWarning):
    """A provider was named that is not there, and the model runs by the next one."""


@dataclass(frozen=True)
class NodeArg:
    """An input or a result: its name, its sizes (numbers, names, or None) and "tensor(float)"."""

    name: str
    shape: list[int | str | None]
    type: str


class InferenceSession:
    """A compiled model, called as an `onnxruntime.InferenceSession` is.

    The first of `providers` that is there says where the model is compiled for, by default the CPU;
    a ProviderWarning names those before it. `options` are those of `hidet_onnx.compile`, which
    stand for ONNX Runtime's session options. BadArgument if none of the providers is there.
    """

    def __init__(
        self,
        model: Given,
        sess_options: None = None,
        providers: Sequence[Provider] | None = None,
        *,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        if sess_options is not None:
            raise BadArgument(
                "session options are ONNX Runtime's", help="pass hidet's by name: options={...}"
            )
        name, device = chosen(providers or ["CPUExecutionProvider"])
        self.providers = [name]
        self.model = compile(model, device=device, options=options)

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, Any],
        run_options: None = None,
    ) -> list[np.ndarray[Any, Any]]:
        """The results of these names, or all of them, for inputs by name."""
        if run_options is not None:
            raise BadArgument("run options are ONNX Runtime's; there are none here")
        if not isinstance(input_feed, Mapping):
            raise BadArgument(f"inputs by name are a mapping, not {type(input_feed).__name__}")
        results = self.model.run(named=input_feed)
        if not output_names:
            return results
        by_name = dict(zip((each.name for each in self.model.outputs), results, strict=True))
        for name in output_names:
            if name not in by_name:
                raise BadArgument(f"there is no result {name!r}", help=f"there are {list(by_name)}")
        return [by_name[name] for name in output_names]

    def io_binding(self) -> IOBinding:
        """What holds arrays on the model's device for `run_with_iobinding`."""
        return IOBinding(self.model)

    def run_with_iobinding(self, binding: IOBinding, run_options: None = None) -> None:
        """Run on the inputs of a binding, which then holds the results."""
        binding.run()

    def get_overridable_initializers(self) -> list[NodeArg]:
        """The inputs that have values of their own unless a call gives others."""
        return [argument(each) for each in self.model.arguments if each.has_default]

    def get_inputs(self) -> list[NodeArg]:
        """The inputs that a call has to give."""
        return [*map(argument, self.model.inputs)]

    def get_outputs(self) -> list[NodeArg]:
        """The results."""
        return [*map(argument, self.model.outputs)]

    def get_providers(self) -> list[str]:
        """Where the model runs."""
        return list(self.providers)


def chosen(providers: Sequence[Provider]) -> tuple[str, str]:
    """The first provider that is there, and the device that it stands for."""
    missing = []
    for each in providers:
        name, options = (each, {}) if isinstance(each, str) else each
        number = int(options.get("device_id", 0))
        device = DEVICES.get(name, "") + (f":{number}" if number else "")
        if not is_there(device):
            missing.append(name)
            continue
        if missing:
            warn(ProviderWarning(f"there is no {', '.join(missing)}: the model runs by {name}"))
        return name, device
    raise BadArgument(
        f"there is no provider {', '.join(map(repr, missing))} here",
        help=f"there are {', '.join(DEVICES)}; the latter needs a GPU",
    )


def is_there(device: str) -> bool:
    """Whether models can be compiled for a device and run on it."""
    try:
        target_on(device)
    except HidetError:
        return False
    return True


def argument(declared: Declared) -> NodeArg:
    """What a file declares, as ONNX Runtime spells it."""
    kind = spelled(declared.code).lower()
    return NodeArg(declared.name, list(declared.shape or ()), f"tensor({kind})")
