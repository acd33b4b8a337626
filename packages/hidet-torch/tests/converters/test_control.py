"""Control flow of PyTorch as operators of the graph, with nothing left to PyTorch."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch._higher_order_ops import map as map_
from torch._higher_order_ops import scan, while_loop

import hidet
import hidet_torch
from hidet.errors import HidetError
from hidet.graph import evaluate
from hidet_torch.importing.importer import import_graph


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.linear = nn.Linear(4, 4)


class Cond(Layer):
    """A branch in a branch, both with weights of the module."""

    def forward(self, x: Tensor) -> Tensor:
        def inner(x: Tensor) -> Tensor:
            return torch.cond(x.max() > 1, lambda x: x * 2, lambda x: self.linear(x) - 1, (x,))

        return torch.cond(x.sum() > 0, lambda x: self.linear(x).relu(), inner, (x,))


class While(Layer):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        def goes_on(i: Tensor, y: Tensor) -> Tensor:
            return (i < 50) & (y.abs().sum() > 0.1)

        def iteration(i: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
            return i + 1, self.linear(y) / x.shape[0]

        return while_loop(goes_on, iteration, (torch.zeros((), dtype=torch.int64), x * 1))


class Scan(Layer):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return scan(lambda c, z: (c * 0.5 + self.linear(z), c + z), torch.zeros(4), x)


class Backward(Layer):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return scan(lambda c, z: (c * 0.5 + z, c - z), torch.zeros(4), x, reverse=True)


class Map(Layer):
    def forward(self, x: Tensor) -> Tensor:
        return map_(lambda row, bias: self.linear(row).sin() + bias, x, self.linear.bias * 2)


MODELS = (Cond, While, Scan, Backward, Map)


def inputs(rows: int = 7) -> list[Tensor]:
    """For each way through the branches one."""
    random = torch.Generator().manual_seed(rows)
    x = torch.rand(rows, 4, generator=random)
    return [x, -x, x.where(x > 0.99 * x.max(), -5 * x) * 3]


def agree(compiled, model: nn.Module, x: Tensor) -> None:
    """The compiled model gives what the model gives."""
    for one, other in zip(*map(listed, (compiled(x), model(x))), strict=True):
        torch.testing.assert_close(torch.as_tensor(np.asarray(one)), other, rtol=1e-5, atol=1e-5)


def listed(value) -> list:
    return list(value) if isinstance(value, list | tuple) else [value]


@pytest.mark.parametrize("kind", MODELS)
def test_exported_models_keep_it_in_the_graph(kind: type[nn.Module], tmp_path) -> None:
    model = kind().eval()
    with torch.no_grad():
        compiled = hidet_torch.compile(model, inputs()[0], fallback="error")
        compiled.save(tmp_path / "model.hidet")
        loaded = hidet.load(tmp_path / "model.hidet")
        for x in inputs():
            agree(compiled, model, x)
            agree(loaded, model, x)


@pytest.mark.parametrize("kind", [Cond, While, Map])
def test_the_number_of_rows_may_vary(kind: type[nn.Module]) -> None:
    model = kind().eval()
    sizes = ({0: torch.export.Dim("n", min=2)},)
    with torch.no_grad():
        compiled = hidet_torch.compile(model, inputs()[0], dynamic_shapes=sizes, fallback="error")
        for rows in (2, 7, 129):
            for x in inputs(rows):
                agree(compiled, model, x)


@pytest.mark.parametrize("kind", MODELS)
def test_torch_compile_keeps_it_in_the_graph(kind: type[nn.Module]) -> None:
    model = kind().eval()
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="hidet", options={"fallback": "error"}, dynamic=False)
    with torch.no_grad():
        for x in inputs():
            agree(compiled, model, x)


class Doubled(Layer):
    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(
            x.sum() > 0, lambda x: torch.special.bessel_j0(x) + 1, lambda x: x - 1, (x,)
        )


def test_an_operator_that_hidet_lacks_is_refused_or_runs_within_its_branch() -> None:
    model = Doubled().eval()
    with torch.no_grad():
        with pytest.raises(HidetError, match="bessel_j0"):
            hidet_torch.compile(model, inputs(4)[0], fallback="error")
        with pytest.warns(UserWarning, match="bessel_j0"):
            compiled = hidet_torch.compile(model, inputs(4)[0])
        for x in inputs(4):
            agree(compiled, model, x)


class Counting(Layer):
    def forward(self, x: Tensor) -> Tensor:
        """Numbers of Python, not tensors, are carried."""
        return while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y + i), (0, x * 1))[1]


def test_numbers_that_iterations_change_are_left_to_pytorch() -> None:
    model = Counting().eval()
    with torch.no_grad(), pytest.raises(HidetError, match="while_loop"):
        hidet_torch.compile(model, inputs()[0], fallback="error")


def test_an_associative_scan_takes_slices_one_after_the_other() -> None:
    """As a graph: PyTorch itself has it only on a GPU."""
    x, body = torch.randn(7, 4), torch.fx.Graph()
    one, other = (body.placeholder(name) for name in "ab")
    found = body.call_function(torch.ops.aten.sub.Tensor, (other, one))
    for each in (one, other, found):
        each.meta["val"] = torch.empty(4, device="meta")
    body.output([found])
    graph, root = torch.fx.Graph(), nn.Module()
    root.combine = torch.fx.GraphModule(nn.Module(), body)
    node = graph.placeholder("x")
    scanned = graph.call_function(
        torch.ops.higher_order.associative_scan, (graph.get_attr("combine"), [node], ())
    )
    result = graph.call_function(operator.getitem, (scanned, 0))
    node.meta["val"], result.meta["val"] = x, x.clone()
    scanned.meta["val"] = [result.meta["val"]]
    graph.output([result])
    imported = import_graph(torch.fx.GraphModule(root, graph))
    assert not imported.calls
    (rows,) = evaluate(imported.graph, x.numpy())
    expected = [x[0].numpy()]
    for row in x[1:].numpy():
        expected.append(row - expected[-1])
    np.testing.assert_allclose(rows, np.stack(expected), rtol=1e-5)
