"""PyTorch models whose CUDA kernels run in the simulator, on the CPU."""

import pytest
import torch

from hidet.options import options


def mlp():
    return torch.nn.Sequential(
        torch.nn.Linear(13, 29), torch.nn.GELU(), torch.nn.LayerNorm(29), torch.nn.Linear(29, 5)
    )


def convnet():
    return torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1, stride=2),
        torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(8 * 3 * 3, 10),
        torch.nn.Softmax(-1),
    )


@pytest.mark.parametrize(
    ("model", "shape"), [(mlp, (7, 13)), (convnet, (2, 3, 13, 13))], ids=["mlp", "convnet"]
)
def test_models(model, shape, monkeypatch):
    monkeypatch.setenv("HIDET_TARGET", "sim")
    torch.manual_seed(0)
    net = model().eval()
    x = torch.randn(shape)
    torch._dynamo.reset()
    with torch.no_grad():
        expected = net(x)
        compiled = torch.compile(net, backend="hidet")
        torch.testing.assert_close(compiled(x), expected, atol=1e-5, rtol=1e-5)
        net[-2 if model is convnet else -1].weight.mul_(2.0)  # seen by the next call
        torch.testing.assert_close(compiled(x), net(x), atol=1e-5, rtol=1e-5)


def test_the_option_works_as_the_environment_does():
    torch.manual_seed(0)
    net = mlp().eval()
    x = torch.randn(3, 13)
    torch._dynamo.reset()
    with torch.no_grad(), options(target="sim"):
        torch.testing.assert_close(torch.compile(net, backend="hidet")(x), net(x))
