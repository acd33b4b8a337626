import pytest
import torch

from benchmarks.measure.accuracy import first_tensor
from benchmarks.models import MEASURED, NETWORKS, build

PUBLISHED = {
    "resnet18": 11_689_512,
    "resnet50": 25_557_032,
    "mobilenet_v2": 3_504_872,
    "inception_v3": 23_834_568,  # 27 161 264 with the head for training
    "vit_b16": 86_567_656,
    "bert_base": 109_482_240,
    "gpt2": 124_439_808,
    "llama": 1_235_814_400,
    "mlp": 235_146,
    "small_cnn": 24_234,
    "small_cnn_gray": 23_946,
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_number_of_parameters_is_the_published_one(name):
    with torch.device("meta"):
        model = NETWORKS[name].make()
    assert sum(p.numel() for p in model.parameters()) == PUBLISHED[name]


@pytest.mark.parametrize("name", ["mlp", "small_cnn", "resnet18", "mobilenet_v2", "bert_base"])
def test_outputs_neither_vanish_nor_overflow(name):
    model, inputs = build(name)
    with torch.no_grad():
        out = first_tensor(model(*inputs))
    assert out.isfinite().all()
    assert 0.01 < out.std() < 100


def test_built_twice_is_the_same_and_leaves_the_random_state():
    torch.manual_seed(7)
    before = torch.get_rng_state()
    (first, x), (second, y) = build("mlp", batch=3), build("mlp", batch=3)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(*x, *y)
    assert x[0].shape == (3, 784)
    pairs = zip(first.parameters(), second.parameters(), strict=True)
    assert all(torch.equal(p, q) for p, q in pairs)


def test_seven_networks_are_measured():
    assert MEASURED[0] == "resnet50"
    assert MEASURED[-1] == "llama"
