"""`hidet_toy.compile`: a model that is called with arrays."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from hidet.frontend.importing.report import require_complete, warning
from hidet.frontend.running.fallback import on_device
from hidet.frontend.saved import build_model
from hidet_toy.importer import ToyImporter
from hidet_toy.language import Model


def compile(model: Model, device: str = "cpu", fallback: str = "warn") -> Compiled:
    """Compile a model for a device; what numpy has to run is named, or an error."""
    return Compiled(model, device, fallback)


class Compiled:
    """A compiled model: arrays in, a list of arrays out."""

    def __init__(self, model: Model, device: str, fallback: str) -> None:
        importer = ToyImporter(model, device)
        graph, self.outputs = importer.run()
        coverage = importer.coverage()
        if fallback == "error":
            require_complete(coverage)
        elif not coverage.is_complete:
            warnings.warn(warning(coverage, importer.framework), stacklevel=3)
        self.compiled = build_model(graph, importer.fallback.calls, "toy")

    def __call__(self, *inputs: Any) -> list[np.ndarray[Any, Any]]:
        """The model's results for these inputs."""
        given = [on_device(each, self.compiled.device) for each in inputs]
        made = [each.cpu().numpy() for each in self.compiled.run(given)]
        return [made[number] for number in self.outputs]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file for `hidet.load`."""
        self.compiled.save(path)
