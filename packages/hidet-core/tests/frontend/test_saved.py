"""Host steps in files: kept by their payloads, and made again by the plugin that wrote them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hidet
from hidet.build.arguments import host_array
from hidet.build.compiled import CompiledGraph
from hidet.errors import BadArchive, BadArgument, FrontendMissing
from hidet.frontend.running.execute import View
from hidet.frontend.running.fallback import FallbackCalls, HostCall
from hidet.frontend.saved import build_model, saved_steps
from hidet.graph import tracing

PLUGIN = """
from hidet.build.arguments import host_array
from hidet.frontend import Frontend

FRONTEND = Frontend(
    name="kept", api=2, module="kept_plugin", framework="numpy", host_steps="kept_plugin:steps"
)

def steps(payloads):
    def step(payload):
        def run(reads, writes):
            x, y = (host_array(v.pointer, v.dtype, v.shape) for v in (*reads, *writes))
            y[...] = x + len(payload)
        return run
    return {key: step(payload) for key, payload in payloads.items()}
"""


def step(reads: Sequence[View], writes: Sequence[View]) -> None:
    x, y = (host_array(view.pointer, view.dtype, view.shape) for view in (*reads, *writes))
    y[...] = x + 3


def model(payload: bytes | None) -> CompiledGraph:
    """x -> (2x + 3) * 2, of which the framework adds 3."""
    x = hidet.symbol((5,), "float32", "cpu")
    fallback = FallbackCalls("cpu")
    with tracing():
        (y,) = fallback.add(HostCall("plus", (x * 2,), (x.type,), step, payload))
        graph = hidet.trace_from(y * 2, x)
    return build_model(graph, fallback.calls, "kept")


@pytest.fixture
def plugin(install: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Any:
    folder = install("hidet-kept", {"kept": "kept_plugin:FRONTEND"})
    (folder / "kept_plugin.py").write_text(PLUGIN)
    yield
    sys.modules.pop("kept_plugin", None)


@pytest.mark.usefixtures("plugin")
def test_a_file_holds_what_the_framework_runs(tmp_path: Path) -> None:
    x = np.arange(5, dtype=np.float32)
    made = model(b"abc")
    np.testing.assert_array_equal(made(x).numpy(), (2 * x + 3) * 2)
    made.save(tmp_path / "model.hidet")
    found = hidet.load(tmp_path / "model.hidet", "cpu")
    np.testing.assert_array_equal(found(x).numpy(), (2 * x + 3) * 2)


def test_a_file_names_the_frontend_that_it_needs(tmp_path: Path) -> None:
    model(b"abc").save(tmp_path / "model.hidet")
    with pytest.raises(FrontendMissing) as caught:
        hidet.load(tmp_path / "model.hidet", "cpu")
    assert caught.value.help == "pip install hidet-kept"


@pytest.mark.parametrize("shape", [(4, 2, 3), (4, 1, 3)])
def test_the_framework_reads_inputs_as_callers_see_them(shape: tuple[int, ...]) -> None:
    """However they lie in memory; an axis of one moves without a copy."""
    x, fallback = hidet.symbol(shape, "float32", "cpu", name="x"), FallbackCalls("cpu")
    with tracing():
        (y,) = fallback.add(HostCall("plus", (x,), (x.type,), step, b"abc"))
        graph = hidet.trace_from(y * 2, x)
    made = build_model(graph, fallback.calls, "kept", orders={"x": (0, 2, 1)})
    values = np.arange(12 * shape[1], dtype=np.float32).reshape(4, 3, shape[1]).transpose(0, 2, 1)
    np.testing.assert_array_equal(made(values).numpy(), (values + 3) * 2)
    assert made.copied == 0


def test_steps_that_no_file_holds_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="0:plus"):
        model(None).save(tmp_path / "model.hidet")
    assert not list(tmp_path.iterdir())


def test_files_that_do_not_say_whose_their_steps_are() -> None:
    with pytest.raises(BadArchive, match="of which frontend"):
        saved_steps({}, {"0:plus": b""})
