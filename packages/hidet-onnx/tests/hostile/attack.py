"""What hostile files are made with, and what becomes of each."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

import hidet_onnx
from hidet.errors import HidetError

HARMLESS = ""
"""What is said of a file that does no harm: there need not be an error."""


@dataclass(frozen=True)
class Attack:
    """`run(folder)` tries a file; the error has to match `says`."""

    run: Callable[[Path], Any]
    says: str


ATTACKS: dict[str, Attack] = {}


def attack(says: str) -> Callable[[Callable[[Path], Any]], None]:
    """Keep a function that tries a file, by its name."""

    def keep(run: Callable[[Path], Any]) -> None:
        ATTACKS[run.__name__] = Attack(run, says)

    return keep


def tried(name: str, folder: Path) -> dict[str, Any]:
    """What became of one file: the error, seconds of the processor, megabytes."""
    start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kind = message = ""
    try:
        ATTACKS[name].run(folder)
    except HidetError as error:
        kind, message = "HidetError", str(error)
    except BaseException as error:  # what no file may bring about
        kind, message = type(error).__name__, str(error)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "name": name,
        "kind": kind,
        "message": message,
        "seconds": round(time.process_time() - start, 2),
        "megabytes": (after - before) // 1024,
    }


# ---- models -------------------------------------------------------------------------------------


def node(operator: str, inputs: list[str], outputs: list[str], **attributes: Any) -> NodeProto:
    """A node with a name that errors have to say."""
    return helper.make_node(operator, inputs, outputs, name="guilty", **attributes)


def graph_of(
    *nodes: NodeProto, held: dict[str, Any] | None = None, shape: Any = ("n", 3)
) -> GraphProto:
    """A graph from x to y that holds arrays or tensors by name."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_empty_tensor_value_info("y")
    tensors = [
        value if isinstance(value, TensorProto) else numpy_helper.from_array(value, name)
        for name, value in (held or {}).items()
    ]
    return helper.make_graph(nodes, "hostile", [x], [y], tensors)


def model_of(graph: GraphProto, version: int = 21, **given: Any) -> ModelProto:
    """A model of a graph, whose functions are among `given`."""
    sets = [helper.make_opsetid("", version)]
    return helper.make_model(graph, opset_imports=sets, ir_version=10, **given)


def compiled(*nodes: NodeProto, **given: Any) -> Any:
    """The model of these nodes, compiled."""
    return hidet_onnx.compile(model_of(graph_of(*nodes, **given)))


def called(*nodes: NodeProto, **given: Any) -> Any:
    """The results of these nodes for ones."""
    return compiled(*nodes, **given)(np.ones((2, 3), np.float32))


def i64(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)


ONE = np.ones((3, 3), np.float32)
BILLION = 10**9
