"""dynamo_config: each method changes what is compiled, as the option of the same name does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from hidet.errors import BadArgument
from hidet.frontend.running.execute import Executor
from hidet_torch import dynamo_config
from hidet_torch.backend import hidet
from hidet_torch.config import DynamoConfig
from hidet_torch.settings import settings_for


def test_defaults_hold_until_options_say_otherwise() -> None:
    dynamo_config.search_space(2).use_tensor_core(True).use_cuda_graph(False)
    found = settings_for(None, None)
    assert dict(found.core) == {"search_space": 2, "tf32": True, "mma": "mma"}
    assert not found.use_graph
    assert settings_for(None, {"search_space": 1}).core["search_space"] == 1
    dynamo_config.reset()
    assert dict(settings_for(None, None).core) == {}


def test_a_bad_value_is_refused_at_once() -> None:
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: dynamo_config.search_space(7), "search_space is 7"),
        (lambda: dynamo_config.use_fp16("yes"), "use_fp16 takes bool"),  # type: ignore[arg-type]
        (lambda: dynamo_config.parallel_k("some"), "parallel_k is 'some'"),
        (lambda: dynamo_config.correctness_report("float16"), "correctness_report is 'float16'"),
    ]
    for call, message in refused:
        with pytest.raises(BadArgument, match=message):
            call()


@pytest.mark.parametrize(
    ("name", "value", "core"),
    [
        ("use_fp16", True, {"precision": "float16"}),
        ("use_fp16", False, {"precision": ""}),
        ("precision", "bfloat16", {"precision": "bfloat16"}),
        ("use_fp16_reduction", True, {"fp16_reduction": True}),
        ("use_tensor_core", True, {"tf32": True, "mma": "mma"}),
        ("use_tensor_core", False, {"tf32": False, "mma": "simt"}),
        ("parallel_k", "disabled", {"parallel_k": "disabled"}),
        ("parallel_k", 4, {"parallel_k": 4}),
        ("use_attention", False, {"attention": False}),
        ("search_space", 1, {"search_space": 1}),
        ("dump_graph_ir", "out", {"dump": "out"}),
    ],
)
def test_methods_and_options_are_the_same(name: str, value: Any, core: dict[str, Any]) -> None:
    by_option = settings_for(None, {name: value})
    getattr(dynamo_config, name)(value)
    assert settings_for(None, None) == by_option
    assert dict(by_option.core) == core


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("use_cuda_graph", "use_graph"),
        ("print_input_graph", "print_input_graph"),
        ("steal_weights", "steal_weights"),
    ],
)
def test_switches_of_this_frontend(name: str, field: str) -> None:
    for value in (True, False):
        getattr(dynamo_config, name)(value)
        assert getattr(settings_for(None, None), field) is value
        assert settings_for(None, {name: value}) == settings_for(None, None)


def test_every_method_can_be_an_option() -> None:
    for name in vars(DynamoConfig):
        if not name.startswith("_") and name != "reset":
            with pytest.raises(BadArgument, match="option "):
                settings_for(None, {name: 3.5})


@torch.no_grad()
def test_float16_is_computed_in_and_comes_back_as_float32() -> None:
    net, x = nn.Linear(64, 64).eval(), torch.randn(4, 64)
    exact = net.double()(x.double())
    net.float()
    plain = torch.compile(net, backend=hidet)(x)
    torch._dynamo.reset()
    dynamo_config.use_fp16()
    half = torch.compile(net, backend=hidet)(x)
    assert half.dtype == torch.float32
    assert (plain - exact).abs().max() < 1e-5
    assert 1e-5 < (half - exact).abs().max() < 1e-2


@torch.no_grad()
def test_graphs_are_printed_and_stages_written(capsys: Any, tmp_path: Path) -> None:
    dynamo_config.print_input_graph().dump_graph_ir(str(tmp_path))
    torch.compile(nn.ReLU(), backend=hidet)(torch.randn(3))
    assert "relu" in capsys.readouterr().out
    assert (tmp_path / "graph" / "00-input.txt").exists()


@torch.no_grad()
def test_kernels_are_launched_one_by_one_without_cuda_graphs(monkeypatch: Any) -> None:
    seen: list[bool] = []

    def spy(*given: Any, use_graph: bool, **named: Any) -> Executor:
        seen.append(use_graph)
        return Executor(*given, use_graph=use_graph, **named)

    monkeypatch.setattr("hidet.frontend.running.execute.Executor", spy)
    for flag in (True, False):
        torch._dynamo.reset()
        dynamo_config.use_cuda_graph(flag)
        torch.compile(nn.ReLU(), backend=hidet)(torch.randn(3))
    torch._dynamo.reset()
    torch.compile(nn.ReLU(), backend=hidet, mode="max-autotune-no-cudagraphs")(torch.randn(3))
    assert seen == [True, False, False]
