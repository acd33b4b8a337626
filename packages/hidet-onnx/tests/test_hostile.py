"""Files that somebody wrote to do harm end in an error that says where and what to do."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hostile import attributes, calls, constants, external, parsing
from hostile.attack import ATTACKS, HARMLESS
from onnx import TensorProto, helper, numpy_helper

import hidet_onnx

LOADED = attributes, calls, constants, external, parsing
SECONDS, MEGABYTES = 10, 500
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    """What became of each file, all tried in a process that may take 3 GiB."""
    folder = tmp_path_factory.mktemp("hostile")
    ended = subprocess.run(
        [sys.executable, "-m", "hostile", str(folder)],
        cwd=Path(__file__).parent,
        env={**os.environ, "HIDET_CACHE_DIR": str(folder / "cache")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert ended.returncode == 0, f"{lines[-1:]} ended the process:\n{ended.stderr[-2000:]}"
    return {each["name"]: each for each in lines if "name" in each}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_file(name: str, found: dict[str, dict]) -> None:
    each, says = found[name], ATTACKS[name].says
    if says != HARMLESS or each["kind"]:
        assert each["kind"] == "HidetError", each
        assert re.search(says, each["message"], re.DOTALL), each
    assert each["seconds"] < SECONDS
    assert each["megabytes"] < MEGABYTES


class Interrupted(Exception):
    """Stands for Ctrl-C."""


def interrupt(*_: object) -> None:
    raise Interrupted


def test_a_loop_without_an_end_is_interrupted() -> None:
    """Ctrl-C is looked at in each iteration, and the model runs again after it."""
    names, kinds = ("turn", "on", "v"), (TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT)
    inputs = [
        helper.make_tensor_value_info(name, kind, [3] if name == "v" else [])
        for name, kind in zip(names, kinds, strict=True)
    ]
    nodes = [helper.make_node("Neg", ["v"], ["w"]), helper.make_node("Identity", ["on"], ["off"])]
    outputs = [helper.make_empty_tensor_value_info(name) for name in ("off", "w")]
    body = helper.make_graph(nodes, "body", inputs, outputs)
    loop = helper.make_node("Loop", ["turns", "yes", "x"], ["y"], body=body)
    given = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [3]),
        helper.make_tensor_value_info("turns", TensorProto.INT64, []),
    ]
    held = [numpy_helper.from_array(np.array(True), "yes")]
    found = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])]
    graph = helper.make_graph([loop], "endless", given, found, held)
    model = hidet_onnx.compile(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    )
    x = np.ones(3, np.float32)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 1)
        with pytest.raises(Interrupted):
            model(x, np.int64(2**62))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(model(x, np.int64(3)), -x)
