"""The code samples of Hidet's published pages, run as they are written there.

`docs/samples.md` says which page each file of samples/ is from. Models have
random weights. Without a GPU the samples say "cpu" for "cuda", pictures are small, and CUDA kernels
run in the simulator.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from models.convnets import resnet50
from torch import nn

from hidet.options import options

SAMPLES = Path(__file__).parent / "samples"
PAGE = Path(__file__).parents[3] / "docs" / "samples.md"
NUMBER = r"-?\d+\.\d*"
ON_CPU = (
    ("224, 224", "33, 33"),
    (".cuda_graph()", ".build()"),
    (".cuda()", ""),
    ("device='cuda'", "device='cpu'"),
    (", dtype=torch.float16", ""),
    (".to(torch.float16)", ""),
    (".half()", ""),
)
"""What is written otherwise where there is no GPU; half precision is slow to emulate."""
TUNE_SECONDS = {True: 10, False: 2}
"""How long samples may measure schedules, with a GPU and without: all of a network take minutes."""


class WallClock:
    """Stands for `torch.cuda.Event` on a CPU."""

    def __init__(self, enable_timing: bool) -> None:
        self.at = 0.0

    def record(self) -> None:
        self.at = time.perf_counter()

    def elapsed_time(self, end: WallClock) -> float:
        return (end.at - self.at) * 1e3


@pytest.fixture(autouse=True)
def _stand_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.hub, "load", lambda repository, name, **given: network())
    if not torch.cuda.is_available():
        monkeypatch.setattr(torch.cuda, "Event", WallClock)
        monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)


def network() -> nn.Module:
    """A residual network of random weights, small where there is no GPU."""
    return resnet50() if torch.cuda.is_available() else resnet50((1, 1, 1, 1), 8)


def run(name: str, **given: Any) -> dict[str, Any]:
    """Execute a sample; the names that it leaves behind."""
    path = SAMPLES / f"{name}.py"
    text = path.read_text()
    cuda = torch.cuda.is_available()
    if not cuda:
        for written, here in ON_CPU:
            text = text.replace(written, here)
    with options(tune_seconds=TUNE_SECONDS[cuda], **({} if cuda else targets(name))):
        exec(compile(text, str(path), "exec"), given)
    return given


def targets(name: str) -> dict[str, str]:
    """Kernels in hidet script are CUDA kernels wherever they run."""
    return {"target": "sim"} if "script" in name else {}


def model_is_compared_and_timed(capsys: Any) -> None:
    run("introduction_model")
    eager, fast = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"eager: \d+\.\d{6}", eager)
    assert re.fullmatch(r"hidet: \d+\.\d{6}", fast)


def script_is_an_autograd_function(capsys: Any) -> None:
    found = run("introduction_script")
    torch.testing.assert_close(found["c"], found["a"] @ found["b"])


def quick_start_of_a_model(capsys: Any) -> None:
    run("quick_start_model")
    eager, fast = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"     eager: \d+\.\d{3} ms", eager)
    assert re.fullmatch(r"     hidet: \d+\.\d{3} ms", fast)


def quick_start_of_tensors(capsys: Any) -> None:
    found = run("quick_start_tensors")
    text = capsys.readouterr().out
    where = "cuda" if torch.cuda.is_available() else "cpu"
    device = "cuda:0" if where == "cuda" else "cpu"
    a, d, traced, graph = printed(text)
    assert a[0] == f"Tensor(shape=(2, 3), dtype='float32', device='{device}')"
    assert re.fullmatch(rf"\[\[ ?({NUMBER} *){{3}}\]", a[1])
    assert d[0] == f"Tensor(shape=(2, 2), dtype='float32', device='{device}')"
    assert traced[0] == f"x: Tensor(shape=(2, 3), dtype='float32', device='{device}')"
    assert traced[1] == f"y: Tensor(shape=(2, 2), dtype='float32', device='{device}')"
    assert traced[2].startswith("from (<Add(")
    assert graph == [
        f"Graph(x: float32[2, 3][{where}]){{",
        f"  c = Constant(float32[3, 2][{where}])",
        f"  c_1 = Constant(float32[2][{where}])",
        f"  x_1: float32[2, 2][{where}] = "
        "Matmul(x, c, transpose_a=False, transpose_b=False, dtype=None)",
        f"  x_2: float32[2, 2][{where}] = Add(x_1, c_1, dtype=None)",
        "  return x_2",
        "}",
    ]
    for result in ("y1", "y2"):
        torch.testing.assert_close(found[result].torch(), found["d"].torch())


def printed(text: str) -> tuple[list[str], ...]:
    """What is printed of two tensors, of two symbolic ones, and of a graph."""
    lines = text.splitlines()
    end = lines.index("}") + 1
    return lines[0:3], lines[3:6], lines[6:9], lines[9:end]


def search_space_is_read_at_the_first_call(capsys: Any) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, inputs = nn.Linear(24, 40).eval().to(device), torch.randn(7, 24, device=device)
    with torch.no_grad():
        found = run("optimize_search_space", model=model, inputs=inputs)
        torch.testing.assert_close(found["outputs"], model(inputs), rtol=1e-4, atol=1e-5)


def correctness_is_reported(capsys: Any) -> None:
    run("optimize_correctness")
    head, dashes, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["kind", "operator", "dtype", "error", "attention"]
    assert set(dashes) == {"-", " "}
    assert [line.split()[0] for line in lines] == [str(each) for each in range(len(lines))]
    assert lines[0].split()[1] == "placeholder"
    assert lines[-1].split()[1] == "output"
    for line in lines:
        assert re.search(r"  float32  \d\.\de[+-]\d\d$", line), line
        assert float(line.split()[-1]) <= 1e-5


def options_are_set(capsys: Any) -> None:
    run("optimize_operators")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    layer, x = nn.Linear(64, 64).eval().to(device), torch.randn(4, 64, device=device)
    with torch.no_grad():
        half = torch.compile(layer, backend="hidet")(x)
        assert half.dtype == torch.float32
        assert 1e-5 < (half - layer(x)).abs().max() < 1e-2


CHECKS: dict[str, Callable[[Any], None]] = {
    "introduction_model": model_is_compared_and_timed,
    "introduction_script": script_is_an_autograd_function,
    "quick_start_model": quick_start_of_a_model,
    "quick_start_tensors": quick_start_of_tensors,
    "optimize_search_space": search_space_is_read_at_the_first_call,
    "optimize_correctness": correctness_is_reported,
    "optimize_operators": options_are_set,
}


@pytest.mark.parametrize("name", CHECKS)
def test_a_sample_runs(name: str, capsys: Any) -> None:
    CHECKS[name](capsys)


@pytest.mark.gpu
@pytest.mark.parametrize("name", CHECKS)
def test_a_sample_runs_on_a_gpu(name: str, capsys: Any) -> None:
    CHECKS[name](capsys)


def test_each_sample_is_run_and_on_the_page() -> None:
    assert {path.stem for path in SAMPLES.glob("*.py")} == set(CHECKS)
    assert set(re.findall(r"`samples/(\w+)\.py`", PAGE.read_text())) == set(CHECKS)
