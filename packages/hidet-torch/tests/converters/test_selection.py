"""Models whose sizes data tell, with nothing left to PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import hidet
import hidet_torch
from hidet.errors import ShapeMismatch, UnsupportedOp

Step = Callable[[nn.Module, Tensor], Any]


def counted(_: nn.Module, x: Tensor) -> Tensor:
    n = (x[:, 0] > 0).sum().item()
    torch._check(n >= 0)
    return torch.arange(n) * 2


def filled(_: nn.Module, x: Tensor) -> Tensor:
    n = (x[:, 0] > 0).sum().item()
    torch._check(n >= 0)
    torch._check(n <= 7)
    return torch.ones(n, 3) + x.sum()


def written(mask: Tensor, values: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """What replaces the elements that a mask selects by values made of them."""

    def step(x: Tensor) -> Tensor:
        copy = x.clone()
        copy[mask] = values(x[mask])
        return copy

    return step


def written_columns(_: nn.Module, x: Tensor) -> Tensor:
    copy, chosen = x.clone(), (x > 0).any(0)
    copy[:, chosen] = x[:, chosen].exp()
    return copy


STEPS: dict[str, Step] = {
    "nonzero": lambda m, x: torch.nonzero(x > 0),
    "where": lambda m, x: torch.where(x > 0),
    "mask_of_rows": lambda m, x: m.linear(x[x.sum(1) > 0]).relu(),
    "mask_of_elements": lambda m, x: x[x > 0].sum(),
    "masked_select": lambda m, x: torch.masked_select(x, x > 0) * 2,
    "unique": lambda m, x: torch.unique(x.round(), return_inverse=True, return_counts=True),
    "unique_rows": lambda m, x: torch.unique(x.sign(), dim=0),
    "bincount": lambda m, x: torch.bincount(x.abs().long().flatten(), minlength=2),
    "weights": lambda m, x: torch.bincount(x.abs().long()[:, 0], x[:, 1]),
    "runs": lambda m, x: torch.unique_consecutive(x.sign()),
    "repeats": lambda m, x: torch.repeat_interleave(x, (x[:, 0] > 0).long() + 1, dim=0),
    "counted": counted,
    "filled": filled,
    "written_elements": lambda m, x: written(x > 0, torch.sqrt)(x),
    "written_rows": lambda m, x: written(
        x[:, 0] > 0, lambda rows: rows @ m.linear.weight.t() @ m.linear.weight
    )(x),
    "written_columns": written_columns,
    "beside": lambda m, x: (x.exp(), m.linear(x[x[:, 1] > 0]), x.sum(0)),
}


class Model(nn.Module):
    def __init__(self, step: Step) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.linear, self.step = nn.Linear(5, 4), step

    def forward(self, x: Tensor) -> Any:
        return self.step(self, x)


def check(call: Callable[..., Any], model: nn.Module, *shapes: tuple[int, int]) -> None:
    for seed, shape in enumerate(shapes):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
        for given in (x, x.abs(), -x.abs()):
            found, wanted = call(given), model(given)
            torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", STEPS)
def test_exported_models_read_sizes_in_the_middle(name: str) -> None:
    model = Model(STEPS[name]).eval()
    with torch.no_grad():
        made = hidet_torch.compile(model, torch.randn(7, 5), fallback="error")
        check(made, model, (7, 5), (7, 5))


@pytest.mark.parametrize("name", ["mask_of_rows", "unique", "counted"])
def test_dynamo_leaves_them_in_the_graph_if_it_is_asked_to(name: str) -> None:
    model = Model(STEPS[name]).eval()
    torch._dynamo.reset()
    asked = {"capture_dynamic_output_shape_ops": True, "capture_scalar_outputs": True}
    with torch.no_grad(), torch._dynamo.config.patch(**asked):
        made = torch.compile(model, backend="hidet", fullgraph=True, options={"fallback": "error"})
        check(made, model, (7, 5), (7, 5))


def test_sizes_of_inputs_vary_too() -> None:
    model = Model(STEPS["beside"]).eval()
    rows = {"x": {0: torch.export.Dim("rows")}}
    with torch.no_grad():
        made = hidet_torch.compile(model, torch.randn(7, 5), dynamic_shapes=rows, fallback="error")
        check(made, model, (7, 5), (2, 5), (31, 5))


def test_a_file_reads_them_without_pytorch(tmp_path) -> None:
    model = Model(STEPS["beside"]).eval()
    x = torch.randn(7, 5)
    with torch.no_grad():
        hidet_torch.compile(model, x, fallback="error").save(tmp_path / "model.hidet")
        loaded = hidet.load(tmp_path / "model.hidet")
        for found, wanted in zip(loaded(x.numpy()), model(x), strict=True):
            torch.testing.assert_close(torch.from_numpy(found.numpy()), wanted)


def test_a_size_beyond_what_the_model_says_is_refused() -> None:
    def few(_: nn.Module, x: Tensor) -> Tensor:
        n = x.to(torch.int64).sum().item()
        torch._check(n >= 0)
        torch._check(n <= 4)
        return torch.zeros(n) + x.sum()

    with torch.no_grad():
        made = hidet_torch.compile(Model(few), torch.ones(3, 1), fallback="error")
        assert made(torch.ones(4, 1)[:3]).shape == (3,)
        with pytest.raises(ShapeMismatch, match="= 9, a size that has to be at most 4"):
            made(torch.full((3, 1), 3.0))


def test_slices_of_what_data_tell_say_nothing_by_examples() -> None:
    def parts(_: nn.Module, x: Tensor) -> tuple[Tensor, ...]:
        places = (x > 0).nonzero()
        n = (x > 0.5).sum().item()
        torch._check(n >= 0)
        torch._check(n <= places.shape[0])
        return places[:n], places[n:], x.flatten()[:n].exp(), places[1:-1], places[: 10**6]

    with torch.no_grad():
        made = hidet_torch.compile(Model(parts), torch.randn(7, 5), fallback="error")
        for seed in range(3):
            x = torch.randn(7, 5, generator=torch.Generator().manual_seed(seed)) + seed
            for found, wanted in zip(made(x), Model(parts)(x), strict=True):
                torch.testing.assert_close(found, wanted)


def test_what_is_asserted_of_sizes_is_checked(tmp_path) -> None:
    def parts(_: nn.Module, x: Tensor) -> Tensor:
        places = (x > 0).nonzero()
        half = (x > 0.5).to(torch.int64).sum().item()
        torch._check(half >= 0)
        n = half * 2
        torch._check(places.shape[0] > 2)
        torch._check(n <= places.shape[0])
        torch._check(n % 4 == 0)
        return places[:n]

    def given(*row: float) -> Tensor:
        return torch.tensor([row])

    with torch.no_grad():
        made = hidet_torch.compile(Model(parts), given(1, 1, 0.1, 0.2, 0.1), fallback="error")
        made.save(tmp_path / "model.hidet")
        loaded = hidet.load(tmp_path / "model.hidet")
        for call in (made, lambda x: loaded(x.numpy())):
            assert call(given(1, 1, 0.1, 0.2, 0.1)).shape == (4, 2)
            for wrong, why in [
                (given(0.1, 0.1, 0, 0, 0), r"3 <= u\d has to hold"),
                (given(1, 1, 0.1, -1, -1), r"\(u\d \* 4\) = 4 .*has to hold"),
                (given(1, 0.1, 0.1, 0.1, 0.1), r"has to be \(u\d \* 2\)"),
            ]:
                with pytest.raises(ShapeMismatch, match=why):
                    call(wrong)


def test_what_pytorch_would_have_to_run_behind_it_is_named() -> None:
    def foreign(_: nn.Module, x: Tensor) -> Tensor:
        return torch.special.bessel_j0(x[x > 0])

    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(UnsupportedOp, match="special_bessel_j0"):
            hidet_torch.compile(Model(foreign), torch.randn(4, 2), fallback="error")


def test_what_is_asserted_of_sizes_is_known_to_what_follows() -> None:
    """Halves of an even size, and as many rows as are asserted to be there."""

    def parts(_: nn.Module, x: Tensor) -> tuple[Tensor, ...]:
        kept = x[x > 0]
        torch._check(kept.shape[0] % 2 == 0)
        n = (x > 0.5).to(torch.int64).sum().item()
        torch._check(n >= 0)
        torch._check(n <= kept.shape[0])
        torch._check(n % 6 == 0)
        ordered = torch.arange(n) * 1.5
        return kept.reshape(kept.shape[0] // 2, 2), kept[:n] + ordered, torch.ones(n // 3, 2)

    model = Model(parts).eval()
    with torch.no_grad():
        made = hidet_torch.compile(model, torch.ones(8, 3), fallback="error")

        def given(large: int, small: int) -> Tensor:
            parts = torch.linspace(1, 2, large), torch.full((small,), 0.25)
            return nn.functional.pad(torch.cat(parts), (0, 24 - large - small), value=-1.0)

        for counts in ((6, 0), (6, 2), (12, 4), (0, 2)):
            x = given(*counts).reshape(8, 3)
            for found, wanted in zip(made(x), model(x), strict=True):
                torch.testing.assert_close(found, wanted)
        for counts in ((6, 1), (4, 2)):
            with pytest.raises(ShapeMismatch, match="has to be"):
                made(given(*counts).reshape(8, 3))


def test_bounds_that_data_tell_may_count_from_the_end() -> None:
    def parts(_: nn.Module, x: Tensor) -> tuple[Tensor, ...]:
        kept = x[x > 0]
        n = (x > 1).to(torch.int64).sum().item()
        torch._check(n >= 0)
        return kept[: kept.shape[0] - n], kept[: n - 2], kept[:-n].exp()

    model = Model(parts).eval()
    with torch.no_grad():
        made = hidet_torch.compile(model, torch.tensor([[0.5, 2, -1, 3, 4]]), fallback="error")
        for row in ([0.5, 2, -1, 3, 4], [0.5, 0.2, 0.1, -3, 2], [0.5, 0.2, 0.1, 0.3, 0.4]):
            for found, wanted in zip(
                made(torch.tensor([row])), model(torch.tensor([row])), strict=True
            ):
                torch.testing.assert_close(found, wanted)


def test_as_many_values_as_a_mask_selects_are_written(tmp_path) -> None:
    """The number is known beforehand, and each call checks that the mask selects as many."""

    class Write(nn.Module):
        def forward(self, x: Tensor, mask: Tensor, rows: Tensor) -> Tensor:
            return x.index_put((mask,), rows, accumulate=True)

    x, rows = torch.randn(7, 5), torch.randn(3, 5)
    mask = torch.tensor([False, True, False, False, True, False, True])
    made = hidet_torch.compile(Write(), x, mask, rows, fallback="error")
    made.save(tmp_path / "model.hidet")
    loaded = hidet.load(tmp_path / "model.hidet")
    for call in (made, lambda *given: loaded(*(each.numpy() for each in given))):
        for chosen in (mask, mask.flip(0)):
            found = torch.as_tensor(call(x, chosen, rows).numpy())
            torch.testing.assert_close(found, Write()(x, chosen, rows))
        with pytest.raises(ShapeMismatch, match=r"`u\d+` = 4, which has to be 3$"):
            call(x, ~mask, rows)
