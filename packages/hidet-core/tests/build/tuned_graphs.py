"""Small graphs to tune, with weights, compiled and checked; and what is then on record."""

import json

import numpy as np

from hidet import ops
from hidet.build.choosing import choices as known
from hidet.build.compile import compile_graph
from hidet.build.measured.network import Network
from hidet.build.measured.tuning_facts import device_name
from hidet.graph import evaluate, from_numpy, symbol, trace_from
from hidet.options import options
from hidet.runtime.binding.memory import array_of, view_of
from hidet.runtime.executor import Executor
from hidet.testing.compare import assert_close
from hidet.tuning import store
from hidet.tuning.record import Record

ALL = known.choices


def choices(op, target, *calls):
    """The first few candidates: so many take seconds."""
    return ALL(op, target, *calls)[:5]


RANDOM = np.random.default_rng(3)


def constant(*shape, dtype="float32"):
    return from_numpy(RANDOM.uniform(-1, 1, shape).astype(dtype))


def dense(rows=24, inner=40, columns=36, dtype="float32"):
    x = symbol([rows, inner], dtype)
    result = ops.relu(x @ constant(inner, columns, dtype=dtype) + constant(columns, dtype=dtype))
    return trace_from(result, inputs=[x])


def convolution():
    x = symbol([1, 6, 10, 10])
    return trace_from(ops.conv2d(x, constant(8, 6, 3, 3), padding=1), inputs=[x])


def compiled(graph, level, **more):
    with options(search_space=level, **more):
        return compile_graph(graph)


def check(graph, made):
    """The compiled graph against its references."""
    arrays = [RANDOM.uniform(-1, 1, each.shape).astype(np.float32) for each in graph.inputs]
    found = Executor(made.with_weights(), "cpu")([view_of(each) for each in arrays])
    for view, expected, tensor in zip(found, evaluate(graph, *arrays), graph.outputs, strict=True):
        assert_close(array_of(view), expected, tensor.dtype, 64.0)


def records(kind="group"):
    """What is known of operators, or of whole calls: `kind` is "network" then."""
    found = [json.loads(path.read_text()) for path in sorted(store.folder().glob("*.json"))]
    return [each for each in found if kind in each["facts"]]


def only_record():
    (entry,) = records()
    ((name, data),) = entry["devices"].items()
    assert name == device_name("cpu")
    return Record.from_json(data)


def takes(monkeypatch, *seconds):
    """Calls of networks take so long, in the order in which they are loaded."""
    left = list(seconds)

    def loaded(self, archive, given, lock):
        self.took = left.pop(0)

    monkeypatch.setattr(Network, "__init__", loaded)
    monkeypatch.setattr(Network, "seconds", lambda self: self.took)
    monkeypatch.setattr(Network, "kernels", lambda self: {})
    monkeypatch.setattr(Network, "close", lambda self: None)
