"""What a user of torch.compile(backend="hidet") may rely on."""

from __future__ import annotations

import threading
import warnings
from typing import Any

import pytest
import torch
from compiling import close, compiled
from torch import nn

from hidet.errors import BadArgument
from hidet.frontend.importing.report import FallbackWarning
from hidet_torch.backend import hidet


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval()


@torch.no_grad()
def test_weights_that_are_replaced_or_written_are_honoured() -> None:
    net, x = model(), torch.randn(3, 8)
    fast = compiled(net)
    close(fast(x), net(x))
    net[0].weight.mul_(2)
    close(fast(x), net(x))
    net[2].bias.data = torch.randn(4)
    close(fast(x), net(x))
    net[0].weight = nn.Parameter(torch.randn(16, 8))
    close(fast(x), net(x))
    net.load_state_dict(model().state_dict())
    close(fast(x), net(x))
    state = {name: torch.randn_like(each) for name, each in net.state_dict().items()}
    net.load_state_dict(state, assign=True)
    close(fast(x), net(x))
    net.double()
    close(fast(x.double()), net(x.double()))


class Derived(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ (self.weight.exp() + 1)


@torch.no_grad()
def test_what_is_derived_from_a_weight_follows_it() -> None:
    net, x = Derived(), torch.randn(2, 4)
    fast = compiled(net)
    close(fast(x), net(x))
    net.weight.fill_(0.5)
    close(fast(x), net(x))
    net.weight.data = torch.randn(4, 4)
    close(fast(x), net(x))


def test_frozen_off_keeps_parameters_as_inputs() -> None:
    net, x = model(), torch.randn(3, 8)
    fast = compiled(net, options={"freeze": False})
    with torch.no_grad():
        close(fast(x), net(x))
        net[0].weight.data.fill_(0.25)
        close(fast(x), net(x))


@torch.no_grad()
def test_outputs_alias_as_in_eager() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = x + 1
        return y, y, y.t(), x.view(-1), x[0], y[1:]

    x = torch.randn(3, 4)
    found, expected = compiled(function)(x), function(x)
    for a, b in zip(found, expected, strict=True):
        close(a, b)
        assert a.stride() == b.stride()
    x.fill_(5)
    close(found[3], x.view(-1))
    close(found[4], x[0])
    found[0].fill_(7)
    close(found[2], torch.full((4, 3), 7.0))
    close(found[5], torch.full((2, 4), 7.0))


@torch.no_grad()
def test_outputs_that_are_copies_do_not_alias() -> None:
    x = torch.randn(3, 4)
    found = compiled(lambda x: (x.clone(), x * 1))(x)
    x.fill_(0)
    assert all(each.abs().sum() > 0 for each in found)


@torch.no_grad()
def test_expanded_outputs_keep_their_strides() -> None:
    function = lambda x: (x + 1).expand(3, 4)
    x = torch.randn(4)
    found = compiled(function)(x)
    close(found, function(x))
    assert found.stride() == function(x).stride()


@torch.no_grad()
def test_inputs_that_are_written_to() -> None:
    def function(x: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
        before = cache.sum()
        cache[1:3] = x
        cache.add_(1)
        return before + cache.mean()

    x, own, other = torch.randn(2, 3), torch.zeros(4, 3), torch.zeros(4, 3)
    fast = compiled(function)
    for _ in range(2):
        close(fast(x, own), function(x, other))
        close(own, other)


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        return x * self.count


@torch.no_grad()
def test_buffers_that_are_written_to() -> None:
    net, x = Counting(), torch.randn(3)
    fast = compiled(net)
    for step in range(1, 4):
        close(fast(x), x * step)


@torch.no_grad()
@pytest.mark.parametrize("kind", ["transposed", "strided", "channels last", "offset"])
def test_inputs_of_any_layout(kind: str) -> None:
    function = lambda x: torch.relu(x) + x.mean(-1, keepdim=True)
    x = {
        "transposed": torch.randn(5, 3).t(),
        "strided": torch.randn(6, 10)[::2, ::2],
        "channels last": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last),
        "offset": torch.randn(16)[1:],
    }[kind]
    found = compiled(function)(x)
    close(found, function(x))
    assert found.stride() == function(x).stride()


@torch.no_grad()
def test_channels_last_convolution() -> None:
    net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU()).eval()
    net = net.to(memory_format=torch.channels_last)
    x = torch.randn(1, 3, 8, 8).to(memory_format=torch.channels_last)
    found = compiled(net)(x)
    close(found, net(x))
    assert found.is_contiguous(memory_format=torch.channels_last)


@torch.no_grad()
def test_symbolic_sizes() -> None:
    function = lambda x: torch.softmax(x @ x.transpose(-1, -2), -1).reshape(-1)
    fast = compiled(function, dynamic=True)
    for rows in (3, 5, 8, 1):
        x = torch.randn(2, rows, 4)
        close(fast(x), function(x))


@torch.no_grad()
def test_scalars_and_numbers() -> None:
    function = lambda x, s, k: x * s + k
    fast = compiled(function)
    for scale, k in ((torch.tensor(2.0), 3), (torch.tensor(-1.0), 4.5), (torch.tensor(0.5), 7.5)):
        x = torch.randn(3)
        close(fast(x, scale, k), function(x, scale, k))


@torch.no_grad()
def test_zero_sizes() -> None:
    function = lambda x: (x + 1, x.sum(0))
    x = torch.randn(0, 3)
    for a, b in zip(compiled(function)(x), function(x), strict=True):
        close(a, b)


@torch.no_grad()
def test_autocast() -> None:
    net, x = model(), torch.randn(3, 8)
    with torch.autocast("cpu", torch.bfloat16):
        found, expected = compiled(net)(x), net(x)
    assert found.dtype is expected.dtype is torch.bfloat16
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)


def test_inference_mode() -> None:
    net, x = model(), torch.randn(3, 8)
    fast = compiled(net)
    with torch.inference_mode():
        close(fast(x), net(x))
        y = x * 2
        close(fast(y), net(y))


def test_inference_option_needs_no_no_grad() -> None:
    net, x = model(), torch.randn(3, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        found = compiled(net, options={"inference": True})(x)
    close(found, net(x))
    assert not found.requires_grad


@torch.no_grad()
def test_training_mode_without_gradients() -> None:
    net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4)).train()
    twin = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4)).train()
    twin.load_state_dict(net.state_dict())
    x = torch.randn(2, 2, 6, 6)
    fast = compiled(net)
    for _ in range(2):
        close(fast(x), twin(x))
    for a, b in zip(net.buffers(), twin.buffers(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@torch.no_grad()
@pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")
def test_random_numbers_are_those_of_eager() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        a = torch.nn.functional.dropout(x, 0.5)
        b = torch.rand_like(x)
        return b * 2, a + b, torch.randn(3)

    x = torch.randn(4, 4)
    fast = compiled(function)
    fast(x)
    torch.manual_seed(3)
    found = fast(x)
    torch.manual_seed(3)
    for a, b in zip(found, function(x), strict=True):
        close(a, b)


def unsupported(x: torch.Tensor) -> torch.Tensor:
    y = torch.relu(x)
    values = torch.special.bessel_j0(y)  # the user's line
    return values + 1


@torch.no_grad()
def test_unsupported_operators_run_in_pytorch_and_are_named() -> None:
    x = torch.randn(3, 5)
    line = unsupported.__code__.co_firstlineno + 2
    with pytest.warns(FallbackWarning, match=rf"bessel_j0[\s\S]*test_backend.py:{line}"):
        found = compiled(unsupported)(x)
    close(found, unsupported(x))


@torch.no_grad()
def test_fallback_can_be_forbidden() -> None:
    with pytest.raises(Exception, match=r"aten\.special_bessel_j0"):
        compiled(unsupported, options={"fallback": "error"})(torch.randn(3))


@torch.no_grad()
@pytest.mark.parametrize("size", [1, 2, 7, 24, 31, 32])
def test_transforms_are_compiled_with_what_is_around_them(size: int) -> None:
    """Of lengths that a CPU transforms by matmuls."""
    torch._dynamo.reset()
    function = lambda x: torch.fft.irfft(torch.fft.rfft(x + 1) * 2, n=size) + torch.fft.fft(x).real
    x = torch.randn(3, size)
    close(compiled(function, options={"fallback": "error"})(x), function(x))


@torch.no_grad()
def test_transforms_of_long_prime_lengths_are_left_to_pytorch() -> None:
    function = lambda x: torch.fft.rfft(x).abs()
    with pytest.raises(Exception, match="a prime factor beyond 2048"):
        compiled(function, options={"fallback": "error"})(torch.randn(4099))


@torch.no_grad()
@pytest.mark.parametrize("size", [33, 1024])
def test_transforms_that_a_cpu_library_does_faster_are_left_with_a_word(size: int) -> None:
    torch._dynamo.reset()
    function = lambda x: torch.fft.irfft(torch.fft.rfft(x + 1) * 2, n=size) * 3
    x = torch.randn(3, size)
    with pytest.warns(FallbackWarning, match="of more than 32 elements on a CPU"):
        close(compiled(function)(x), function(x))


@torch.no_grad()
@pytest.mark.parametrize("size", [400, 5000])
def test_long_rows_of_a_cpu_are_put_in_order_here(size: int) -> None:
    torch._dynamo.reset()
    x = torch.randn(3, size)
    x[0, 7] = torch.nan

    def function(x: torch.Tensor) -> tuple[Any, Any]:
        ordered = torch.sort(x * 2, stable=True, descending=True)
        return torch.kthvalue(x[:, :400] + 1, 200), ordered

    found = compiled(function, options={"fallback": "error"})(x)
    torch.testing.assert_close(found, function(x), equal_nan=True)


@torch.no_grad()
@pytest.mark.filterwarnings("ignore::hidet.frontend.importing.report.FallbackWarning")
def test_pytorch_gets_an_operand_as_often_as_it_takes_it() -> None:
    """Also one that two nodes computed, of which the compiler keeps one."""
    function = lambda x: torch.cdist(x, x) + torch.cdist(x + 1, 1 + x)
    x = torch.randn(3, 8)
    close(compiled(function)(x), function(x))


@torch.no_grad()
def test_calls_from_several_threads() -> None:
    net = model()
    fast = compiled(net)
    fast(torch.randn(3, 8))
    wrong: list[int] = []

    def work(seed: int) -> None:
        x = torch.randn(3, 8, generator=torch.Generator().manual_seed(seed))
        with torch.no_grad():
            expected = net(x)
            for _ in range(20):
                if not torch.allclose(fast(x), expected, atol=1e-5):
                    wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"fallbak": "warn"}, "did you mean 'fallback'"),
        ({"fallback": "maybe"}, "use 'warn' or 'error'"),
        ({"freeze": 1}, "option freeze takes bool"),
        ({"mode": "fastest"}, "there is no mode 'fastest'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        hidet(torch.fx.symbolic_trace(model()), [], options=options)


@torch.no_grad()
@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_modes(mode: str) -> None:
    net, x = model(), torch.randn(3, 8)
    close(compiled(net, mode=mode)(x), net(x))
