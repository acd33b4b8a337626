from __future__ import annotations

import copy
import io
import pickle
import warnings
from collections.abc import Callable

import pytest
import torch
from compiling import close, model
from torch import nn
from torch.utils._pytree import tree_structure

import hidet_torch
from hidet.errors import BadArgument, UnsupportedOp
from hidet.frontend.importing.report import FallbackWarning
from hidet.options import options


def test_a_compiled_model_is_called_like_the_model() -> None:
    net, x = model(), torch.randn(3, 8)
    fast = hidet_torch.compile(net, x)
    close(fast(x), net(x))
    with torch.no_grad():
        net[0].weight.mul_(2)
    close(fast(x), net(x))
    assert not fast(x).requires_grad


def test_compiling_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hidet_torch.compile(model(), torch.randn(3, 8))


def test_a_transformer_layer() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True).eval()
    x = torch.randn(2, 5, 16)
    close(hidet_torch.compile(layer, x)(x), layer(x).detach())


def test_a_profile_has_kernels_and_parts_of_pytorch() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.special.bessel_j0(self.inner(x))

    net, x = Two(), torch.randn(3, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        fast = hidet_torch.compile(net, x)
    profile = fast.profile(x, repeat=2)
    assert any("linear" in row.name for row in profile.rows)
    assert any("bessel" in row.name for row in profile.rows)
    assert all(row.runs == 1 and row.microseconds > 0 for row in profile.rows)
    with torch.no_grad():
        net.inner[0].weight.mul_(2)
    assert fast.profile(x=x, repeat=1).rows
    with pytest.raises(BadArgument, match="measures nothing"):
        fast.profile(x, repeat=0)


def test_other_inputs_than_compiled_for_are_refused() -> None:
    fast = hidet_torch.compile(model(), torch.randn(3, 8))
    with pytest.raises(BadArgument, match=r"torch.float64 on cpu, compiled for torch.float32"):
        fast(torch.randn(3, 8, dtype=torch.float64))
    with pytest.raises(BadArgument, match="the graph takes"):
        fast(torch.randn(4, 8))
    with pytest.raises(BadArgument, match="compiled for"):
        fast(torch.randn(3, 8), 1)


def test_other_inputs_are_refused_after_the_right_ones_and_these_taken_after_them() -> None:
    net, x = model(), torch.randn(3, 8)
    fast = hidet_torch.compile(net, x)
    for wrong in ((x.double(),), (x[:2],), (x, x), (), (3,), (x.to("meta"),), (x.to_sparse(),)):
        for _ in range(2):
            close(fast(x), net(x).detach())
        with pytest.raises(BadArgument):
            fast(*wrong)


def test_tensors_of_other_layouts_signs_and_kinds_are_taken_in_turns() -> None:
    net, x = model(), torch.randn(3, 8)
    fast = hidet_torch.compile(net, x)
    memory = torch.cat([torch.zeros(1), x.flatten()])
    others = [
        x.t().contiguous().t(),
        memory[1:].view(3, 8),  # does not start where kernels read
        torch._neg_view(-x),
        nn.Parameter(x.clone()),
        x.as_subclass(Other),
    ]
    for other in others:
        for given in (x, x.clone(), other, other):
            close(fast(given).as_subclass(torch.Tensor), net(x).detach())
    with torch.inference_mode():
        close(fast(x), net(x))
        close(fast(x.clone()), net(x))


class Other(torch.Tensor):
    pass


@pytest.mark.parametrize(
    "result",
    [
        lambda y: y,
        lambda y: (y,),
        lambda y: (y, y * 2),
        lambda y: [y, y * 2],
        lambda y: (y, [y * 2, None]),
        lambda y: {"a": y, "b": (y * 2,)},
    ],
)
def test_results_come_in_the_models_structure(result: Callable[[torch.Tensor], object]) -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> object:
            return result(x + 1)

    x = torch.randn(3)
    found, expected = hidet_torch.compile(Model(), x)(x), Model()(x)
    assert tree_structure(found) == tree_structure(expected)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


def test_a_model_without_inputs() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))

        def forward(self) -> torch.Tensor:
            return self.weight * 2

    net = Model()
    fast = hidet_torch.compile(net)
    for _ in range(2):
        close(fast(), net().detach())
    with pytest.raises(BadArgument):
        fast(torch.ones(3))


def test_sizes_may_be_dynamic() -> None:
    net = model()
    fast = hidet_torch.compile(
        net, torch.randn(3, 8), dynamic_shapes=({0: torch.export.Dim("rows", min=2, max=64)},)
    )
    for rows in (2, 5, 17):
        x = torch.randn(rows, 8)
        close(fast(x), net(x))


class Structured(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: dict[str, torch.Tensor]) -> dict[str, object]:
        self.calls += 1
        return {"sum": x["a"] + x["b"], "calls": (self.calls * 1, None)}


def test_structures_and_buffers_that_are_written_to() -> None:
    net = Structured()
    given = {"a": torch.randn(3), "b": torch.randn(3)}
    fast = hidet_torch.compile(net, given)
    for count in (1.0, 2.0):
        found = fast(given)
        close(found["sum"], given["a"] + given["b"])
        assert found["calls"][0].item() == count
        assert found["calls"][1] is None
    assert net.calls.item() == 2


def test_refresh_sees_what_pytorch_does_not_count() -> None:
    class Derived(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * (self.weight.exp() + 1)

    net, x = Derived(), torch.randn(4)
    fast = hidet_torch.compile(net, x)
    net.weight.data.fill_(2)
    hidet_torch.refresh(net)
    close(fast(x), net(x).detach())


def test_options_are_those_of_the_backend() -> None:
    class Special(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.special.bessel_j0(x) + 1

    x = torch.randn(5)
    with pytest.warns(FallbackWarning, match=r"aten\.special_bessel_j0"):
        close(hidet_torch.compile(Special(), x)(x), torch.special.bessel_j0(x) + 1)
    with pytest.raises(UnsupportedOp, match=r"aten\.special_bessel_j0"):
        hidet_torch.compile(Special(), x, fallback="error")


def test_caches_are_updated_in_place() -> None:
    class Cached(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("cache", torch.zeros(2, 7, 4))

        def forward(self, new: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
            self.cache[:, at] = new
            return self.cache.sum(1)

    net, new = Cached(), torch.randn(2, 1, 4)
    fast = hidet_torch.compile(net, new, torch.tensor([0]))
    expected = torch.zeros(2, 7, 4)
    for at in (0, 4):
        expected[:, at] = new[:, 0]
        close(fast(new, torch.tensor([at])), expected.sum(1))
        assert torch.equal(net.cache, expected)
    assert fast.run.imported.mutations == []
    assert len(fast.run.imported.updates) == 1


class Two(nn.Module):
    """A model whose inputs have names, one of them optional."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(
        self, x: torch.Tensor, scale: torch.Tensor | None = None, *, shift: bool = False
    ) -> torch.Tensor:
        y = self.linear(x) if scale is None else self.linear(x) * scale
        return y + 1 if shift else y


def test_inputs_may_be_named() -> None:
    net, x, scale = Two().eval(), torch.randn(3, 4), torch.randn(4)
    for fast in (
        hidet_torch.compile(net, x, scale),
        hidet_torch.compile(net, x, scale=scale, search_space=0),
        hidet_torch.compile(net, scale=scale, x=x),
    ):
        for result in (fast(x, scale), fast(x, scale=scale), fast(scale=scale, x=x)):
            close(result, net(x, scale))
    with pytest.raises(BadArgument, match=r"Two.forward: missing a required argument: 'x'"):
        hidet_torch.compile(net, x)()
    shifted = hidet_torch.compile(net, x, shift=True)
    assert repr(shifted) == "<compiled Two, called as (*, shift=*)>"
    close(shifted(x, shift=True), net(x, shift=True))
    with pytest.raises(BadArgument, match=r"called as \(\*\), compiled for \(\*, shift=\*\)"):
        shifted(x)


def test_a_call_that_the_model_would_not_take_either() -> None:
    net, x = Two().eval(), torch.randn(3, 4)
    fast = hidet_torch.compile(net, x)
    with pytest.raises(BadArgument, match=r"called as \(\*, \*\), compiled for \(\*\)"):
        fast(x, x)
    with pytest.raises(BadArgument, match=r"Two.forward: .*'y'|Two.forward: .*'x'"):
        fast(y=x)
    with pytest.raises(BadArgument, match="there is no option 'serch_space'"):
        hidet_torch.compile(net, x, serch_space=1)
    with pytest.raises(BadArgument, match=r"takes a torch\.nn\.Module, not function"):
        hidet_torch.compile(lambda x: x, x)  # type: ignore[arg-type]


def test_inputs_that_are_missing_or_too_many_are_told_by_what_the_model_takes() -> None:
    for given, what in (((), "missing a required"), ((torch.ones(3, 8),) * 2, "too many")):
        with pytest.raises(BadArgument, match=rf"Sequential\.forward: {what}") as found:
            hidet_torch.compile(model(), *given)
        assert "its inputs are (input" in str(found.value)


def test_what_cannot_be_captured_is_told_what_to_do() -> None:
    class ByValue(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.relu() if x.sum() > 0 else x.exp()

    x = torch.ones(3)
    with pytest.raises(Exception, match="data-dependent") as found:
        hidet_torch.compile(ByValue(), x)
    assert "for inputs\nlike those given" in found.value.__notes__[-1]
    torch._dynamo.reset()
    with torch.no_grad():  # what the words advise
        close(torch.compile(ByValue(), backend="hidet")(-x), torch.exp(-x))


def test_a_warning_names_the_line_of_the_user() -> None:
    class Spectrum(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.special.bessel_j0(x) + x.sum()

    x = torch.randn(8)
    with pytest.warns(FallbackWarning) as direct:
        hidet_torch.compile(Spectrum(), x)
    with pytest.warns(FallbackWarning) as lazy, torch.no_grad():
        torch.compile(Spectrum(), backend="hidet")(x)
    assert [each.filename for each in (*direct, *lazy)] == [__file__, __file__]


def test_a_sign_that_is_still_to_be_changed_is_changed() -> None:
    """PyTorch has such tensors of `z.conj().imag`."""
    net, x = model(), torch.randn(3, 8)
    fast = hidet_torch.compile(net, x)
    close(fast(torch._neg_view(x)), net(-x).detach())
    close(fast(torch.complex(x, x).conj().imag), net(-x).detach())


def test_a_complex_number_may_be_conjugated_later() -> None:
    class Parts(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.view_as_real(x) * 2

    x = torch.randn(3, dtype=torch.complex64)
    fast = hidet_torch.compile(Parts(), x, fallback="error")
    close(fast(x.conj()), torch.view_as_real(x.conj().resolve_conj()) * 2)


def test_a_number_out_of_a_tensor_stays_in_pytorch() -> None:
    class Scaled(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * x.sum().item()

    x = torch.randn(3)
    with pytest.warns(FallbackWarning, match=r"_local_scalar_dense|item"):
        fast = hidet_torch.compile(Scaled(), x)
    close(fast(x), Scaled()(x))


@pytest.mark.parametrize("way", [copy.deepcopy, pickle.dumps])
def test_what_is_compiled_is_no_data(way: Callable[[object], object]) -> None:
    fast = hidet_torch.compile(model(), torch.randn(3, 8))
    with pytest.raises(BadArgument, match=r"cannot be copied or pickled(.|\n)*save\(path\)"):
        way(fast)


def test_a_tensor_without_strides_is_refused() -> None:
    fast = hidet_torch.compile(model(), torch.randn(3, 8))
    with pytest.raises(BadArgument, match=r"cpu, torch.sparse_coo, compiled for torch.float32"):
        fast(torch.randn(3, 8).to_sparse())


class Cache:
    def __init__(self, keys: torch.Tensor) -> None:
        self.keys = keys


class GivesCache(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, Cache]:
        return x * 2, Cache(x)


class TakesCache(nn.Module):
    def forward(self, x: torch.Tensor, cache: Cache) -> torch.Tensor:
        return x * cache.keys


def test_objects_that_no_export_takes_apart():
    x = torch.ones(2)
    models = (GivesCache(), (x,), "gives"), (TakesCache(), (x, Cache(x)), "takes")
    for net, inputs, verb in models:
        with pytest.raises(BadArgument, match=rf"the model {verb} a .*Cache") as caught:
            hidet_torch.compile(net, *inputs)
        assert "use_cache=False" in str(caught.value)
        with torch.no_grad():
            torch.compile(net, backend="hidet")(*inputs)


def test_a_terminal_names_the_model_while_it_is_traced_and_compiled(monkeypatch):
    said = io.StringIO()
    monkeypatch.setattr(said, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", said)
    with options(progress=True, cache=False):
        hidet_torch.compile(model(), torch.randn(3, 8))
    stages = [said.getvalue().find(f"Sequential: {each}") for each in ("tracing", "optimizing")]
    assert 0 <= stages[0] < stages[1]
