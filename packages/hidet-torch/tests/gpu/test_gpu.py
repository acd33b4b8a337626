"""Compiled models on a GPU: precision, memory that moves, streams, captures, sizes that change."""

from __future__ import annotations

import copy
import threading
from typing import Any

import pytest
import torch
from torch import nn
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

import hidet_torch
from hidet_torch.backend import hidet

pytestmark = pytest.mark.gpu
DTYPES = pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)


class Block(nn.Module):
    """A transformer block of 4 heads."""

    def __init__(self, size: int = 64) -> None:
        super().__init__()
        self.norm, self.last = nn.LayerNorm(size), nn.LayerNorm(size)
        self.inner, self.outer = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.feed = nn.Sequential(nn.Linear(size, 4 * size), nn.GELU(), nn.Linear(4 * size, size))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, rows, size = x.shape
        parts = self.inner(self.norm(x)).view(batch, rows, 3, 4, size // 4).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.outer(mixed.transpose(1, 2).reshape(batch, rows, size))
        return x + self.feed(self.last(x))


def convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 32, 7, 2, 3, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        nn.Conv2d(32, 32, 3, 1, 1, groups=32), nn.ReLU6(), nn.Conv2d(32, 48, 1), nn.Hardswish(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 10),
    )  # fmt: skip


CASES = {
    "block": (Block, (2, 33, 64)),
    "convolutions": (convolutions, (2, 3, 61, 61)),
    "mlp": (lambda: nn.Sequential(nn.Linear(64, 129), nn.Tanh(), nn.Linear(129, 7)), (5, 64)),
}


@torch.no_grad()
def built(name: str, dtype: torch.dtype) -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    torch._dynamo.reset()
    make, shape = CASES[name]
    return make().eval().cuda().to(dtype), torch.randn(shape, device="cuda").to(dtype)


def distance(found: torch.Tensor, exact: torch.Tensor) -> float:
    return ((found.double() - exact).norm() / exact.norm()).item()


@torch.no_grad()
@DTYPES
@pytest.mark.parametrize("name", CASES)
def test_as_precise_as_eager(name: str, dtype: torch.dtype) -> None:
    model, x = built(name, dtype)
    exact = copy.deepcopy(model).double()(x.double())
    compiled = torch.compile(model, backend=hidet, fullgraph=True, options={"fallback": "error"})
    epsilon = torch.finfo(dtype).eps
    for _ in range(3):  # made, replayed, replayed with other memory
        found = compiled(x.clone())
        assert distance(found, exact) <= 4 * distance(model(x), exact) + epsilon


DECODERS = {
    "gpt2": lambda: GPT2LMHeadModel(
        GPT2Config(n_layer=2, n_head=4, n_embd=128, vocab_size=211, n_positions=160)
    ),
    "llama": lambda: LlamaForCausalLM(
        LlamaConfig(
            hidden_size=128, intermediate_size=352, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, vocab_size=211, max_position_embeddings=160,
        )
    ),
}  # fmt: skip


@torch.no_grad()
@DTYPES
@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("length", [33, 128])
def test_decoders_are_as_precise_as_eager(name: str, length: int, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    torch._dynamo.reset()
    model = DECODERS[name]().eval().cuda().to(dtype)
    tokens = torch.randint(211, (1, length), device="cuda")
    exact = copy.deepcopy(model).double()(tokens, use_cache=False).logits
    compiled = torch.compile(model, backend=hidet, fullgraph=True, options={"fallback": "error"})
    found = compiled(tokens, use_cache=False).logits
    eager = model(tokens, use_cache=False).logits
    assert distance(found, exact) <= 4 * distance(eager, exact) + torch.finfo(dtype).eps


@torch.no_grad()
def test_outputs_stay_as_they_were() -> None:
    model, x = built("mlp", torch.float32)
    call = hidet_torch.compile(model, x)
    first = call(x)
    kept = first.clone()
    call(torch.randn_like(x))
    torch.testing.assert_close(first, kept, rtol=0, atol=0)


@torch.no_grad()
def test_on_the_callers_stream() -> None:
    model, x = built("block", torch.float32)
    compiled = torch.compile(model, backend=hidet)
    expected = compiled(x)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10_000_000)
        late = x * 1.0
        found = compiled(late)
    stream.synchronize()
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


@torch.no_grad()
@pytest.mark.parametrize("side", [False, True])
def test_inputs_that_are_gone_right_after_the_call(side: bool) -> None:
    model, x = built("block", torch.float32)
    call = hidet_torch.compile(model, x)
    expected = call(x)
    stream = torch.cuda.Stream() if side else torch.cuda.current_stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(20):
            torch.cuda._sleep(1_000_000)  # the work begins when the input is gone for long
            given = x.clone()
            address = given.data_ptr()
            found = call(given)
            del given
            others = [torch.full_like(x, torch.nan) for _ in range(8)]
            assert address in [each.data_ptr() for each in others]
            torch.testing.assert_close(found, expected, rtol=0, atol=0)


@torch.no_grad()
def test_threads_with_streams_of_their_own_share_models() -> None:
    calls = []
    for name in ("block", "mlp"):
        model, x = built(name, torch.float32)
        call = hidet_torch.compile(model, x)
        calls.append((call, [(x + i, call(x + i)) for i in range(4)]))
    torch.cuda.synchronize()
    wrong = []

    def work(own_stream: bool) -> None:
        with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream() if own_stream else None):
            for iteration in range(100):
                call, cases = calls[iteration % 2]
                given, expected = cases[iteration // 2 % 4]
                found = call(given)
                torch.cuda.current_stream().synchronize()
                if not torch.equal(found, expected):
                    wrong.append(iteration)

    threads = [threading.Thread(target=work, args=(i > 1,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@torch.no_grad()
def test_models_share_the_arena_of_a_stream() -> None:
    calls = []
    for name in CASES:
        model, x = built(name, torch.float32)
        call = hidet_torch.compile(model, x)
        call(x)
        calls.append((call, x))
    (first, *others) = [next(iter(call.run.runner.executor.programs.values())) for call, _ in calls]
    scratch = first.on(0).scratch
    assert all(program.on(0).scratch is scratch for program in others)
    scratch.release()  # models that are gone may have needed more
    for call, x in calls:
        call(x)
    assert scratch.nbytes == max(each.bound.arena.nbytes for each in (first, *others))


@torch.no_grad()
def test_inside_somebody_elses_capture() -> None:
    model, x = built("block", torch.float32)
    call = hidet_torch.compile(model, x)
    expected = call(x)
    given = torch.zeros_like(x)
    call(given)  # made before the capture
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = call(given)
    given.copy_(x)
    graph.replay()
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


@torch.no_grad()
def test_sizes_that_change() -> None:
    model, _ = built("block", torch.float32)
    compiled = torch.compile(model, backend=hidet, dynamic=True)
    for rows in (33, 1, 7, 129):
        y = torch.randn(2, rows, 64, device="cuda")
        torch.testing.assert_close(compiled(y), model(y), rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_weights_that_change_in_place() -> None:
    model, x = built("convolutions", torch.float32)
    compiled = torch.compile(model, backend=hidet)
    compiled(x)
    for parameter in model.parameters():
        parameter.mul_(1.5)
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-3, atol=1e-3)


def test_gradients_are_those_of_eager() -> None:
    model, x = built("mlp", torch.float32)
    compiled: Any = torch.compile(model, backend=hidet)
    made = compiled(x)
    with pytest.warns(UserWarning, match="runs in PyTorch from now on"):
        made.square().sum().backward()
    found = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    model(x).square().sum().backward()
    for a, parameter in zip(found, model.parameters(), strict=True):
        torch.testing.assert_close(a, parameter.grad)


def test_numbers_on_the_cpu_do_not_make_the_host_wait() -> None:
    function = lambda x, s: x * s + 1
    x = torch.randn(64, device="cuda")
    fast = torch.compile(function, backend=hidet, fullgraph=True)
    with torch.no_grad():
        for value in (2.0, -0.5):
            fast(x, torch.tensor(value))
        torch.cuda.set_sync_debug_mode("error")
        try:
            found = fast(x, torch.tensor(3.0))
        finally:
            torch.cuda.set_sync_debug_mode("default")
    torch.testing.assert_close(found, x * 3 + 1)


def test_caches_are_updated_where_they_lie() -> None:
    def step(cache: torch.Tensor, new: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        cache.index_copy_(2, at, new)
        return (cache * cache).sum(-1)

    cache = torch.randn(2, 4, 32, 16, device="cuda", dtype=torch.float16)
    twin = cache.clone()
    fast = torch.compile(step, backend=hidet, fullgraph=True)
    with torch.no_grad():
        for place in (0, 5, 31):
            new, at = torch.randn_like(cache[:, :, :1]), torch.tensor([place], device="cuda")
            torch.testing.assert_close(fast(cache, new, at), step(twin, new, at))
            assert torch.equal(cache, twin)


def test_order_on_the_gpu() -> None:
    x = torch.randn(8, 300, device="cuda")
    function = lambda x: (*torch.sort(x, -1, descending=True), *torch.topk(x, 5), x.cummax(1)[1])
    fast = torch.compile(function, backend=hidet, fullgraph=True, options={"fallback": "error"})
    with torch.no_grad():
        for a, b in zip(fast(x), function(x), strict=True):
            assert torch.equal(a, b)


def test_sizes_as_numbers_on_the_gpu() -> None:
    function = lambda x: x / x.shape[0] + torch.arange(4, device="cuda") * x.shape[0]
    fast = torch.compile(function, backend=hidet, dynamic=True, options={"fallback": "error"})
    with torch.no_grad():
        for rows in (3, 8):
            x = torch.randn(rows, 4, device="cuda")
            torch.testing.assert_close(fast(x), function(x))


def test_transposed_convolutions_on_the_gpu() -> None:
    net = torch.nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1).cuda().eval()
    x = torch.randn(2, 16, 12, 12, device="cuda")
    with torch.no_grad():
        found = torch.compile(net, backend=hidet, options={"fallback": "error"})(x)
        torch.testing.assert_close(found, net(x), rtol=2e-3, atol=2e-3)


@torch.no_grad()
def test_weights_that_are_read_in_half_precision_are_given_back() -> None:
    size = 2048
    net, x = nn.Linear(size, size, bias=False).cuda().eval(), torch.randn(2, size, device="cuda")
    expected = net(x)
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    fast = torch.compile(net, backend=hidet, options={"use_fp16": True, "steal_weights": True})
    torch.testing.assert_close(fast(x), expected, rtol=1e-2, atol=1e-2)
    assert before - torch.cuda.memory_allocated() > size * size
    torch.testing.assert_close(fast(x), expected, rtol=1e-2, atol=1e-2)


@torch.no_grad()
def test_a_network_whose_merged_weights_were_given_back() -> None:
    torch.manual_seed(0)
    net = BertModel(BertConfig(num_hidden_layers=2)).cuda().half().eval()
    x = torch.randint(0, 30522, (1, 128), device="cuda")
    twin = copy.deepcopy(net)
    expected = net(x)[0]
    fast = torch.compile(net, backend=hidet, options={"steal_weights": True})
    for _ in range(2):
        torch.testing.assert_close(fast(x)[0], expected, rtol=2e-2, atol=2e-2)
        torch.cuda.synchronize()
        torch.cuda.empty_cache()  # what was given back is out of reach from here on
    ours, theirs = (each.encoder.layer[0].attention.self for each in (net, twin))
    place = ours.query.weight.untyped_storage().data_ptr()
    assert ours.value.weight.untyped_storage().data_ptr() == place  # parts of one constant
    ours.key.weight.mul_(0.5)
    theirs.key.weight.mul_(0.5)
    torch.testing.assert_close(fast(x)[0], twin(x)[0], rtol=2e-2, atol=2e-2)


@torch.no_grad()
@pytest.mark.parametrize("options", [{}, {"use_fp16": True}, {"use_tensor_core": True}], ids=str)
def test_a_correctness_report_has_no_row_out_of_line(options: dict[str, Any], capsys: Any) -> None:
    net, x = Block().cuda().eval(), torch.randn(2, 16, 64, device="cuda")
    torch.compile(net, backend=hidet, options={**options, "correctness_report": True})(x)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].split()[1] == "output"
    assert not [line for line in lines if "above" in line]
