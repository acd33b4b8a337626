"""The official test cases of ONNX's backends: models with inputs and the results expected."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner
from onnx.reference import ReferenceEvaluator

KINDS = ("node", "real", "simple", "pytorch-converted", "pytorch-operator")
Data = list[tuple[list[Any], list[Any]]]
"""Inputs and results of each data set."""


@dataclass(frozen=True)
class Case:
    """One case; `load` gives the model and its data sets."""

    name: str
    kind: str
    source: TestCase

    @property
    def tolerances(self) -> dict[str, float]:
        """Those of the official harness."""
        return {"rtol": self.source.rtol, "atol": self.source.atol}

    def load(self) -> tuple[ModelProto, Data]:
        """The model and its data sets."""
        if self.kind == "node":
            pairs = self.source.data_sets or []
            return self.source.model, [(arrays(given), arrays(wanted)) for given, wanted in pairs]
        if self.source.model_dir is None:
            return light(self.source)
        folder = Path(self.source.model_dir)
        model = onnx.load(folder / "model.onnx")
        return model, [stored(each, model) for each in sorted(folder.glob("test_data_set*"))]


@cache
def cases() -> dict[str, Case]:
    """Every case by name, in a fixed order."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = [Case(t.name, kind, t) for kind in KINDS for t in load_model_tests(kind=kind)]
    return {each.name: each for each in sorted(found, key=lambda case: case.name)}


def arrays(values: list[Any]) -> list[Any]:
    """Values with tensors as arrays."""
    return [numpy_helper.to_array(v) if isinstance(v, TensorProto) else v for v in values]


def stored(folder: Path, model: ModelProto) -> tuple[list[Any], list[Any]]:
    """A data set in files, read as the official harness does."""
    runner = Runner.__new__(Runner)

    def read(kind: str, types: Any) -> list[Any]:
        found: list[Any] = []
        for number in range(len(list(folder.glob(f"{kind}_*.pb")))):
            runner._load_proto(f"{folder}/{kind}_{number}.pb", found, types[number].type)
        return found

    return read("input", model.graph.input), read("output", model.graph.output)


def light(case: TestCase) -> tuple[ModelProto, Data]:
    """A network without weights of its own, and what the reference gives for the harness's data."""
    package = Path(onnx.__file__).parent
    path = package.parent / str(case.url)
    model = onnx.load(path)
    held = {each.name for each in model.graph.initializer}
    inputs = [each for each in model.graph.input if each.name not in held]
    given = [Runner.generate_dummy_data(each, name=case.model_name) for each in inputs]
    kept = [path.with_name(f"{path.stem}_output_{n}.pb") for n in range(len(model.graph.output))]
    if all(each.exists() for each in kept):
        wanted = [numpy_helper.to_array(TensorProto.FromString(each.read_bytes())) for each in kept]
    else:
        feeds = dict(zip([each.name for each in inputs], given, strict=True))
        wanted = list(ReferenceEvaluator(model).run(None, feeds))
    return model, [(given, wanted)]


def selected(every: int, first: int = 0) -> Iterator[Case]:
    """Each `every`-th case."""
    for number, case in enumerate(cases().values()):
        if number % every == first:
            yield case
