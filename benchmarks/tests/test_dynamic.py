import torch

from benchmarks.dynamic import MODELS, SIZES, DynamicRow, dynamic_table, inputs_at, measure_dynamic
from benchmarks.models import NETWORKS, build
from benchmarks.networks.unet import UNet


def test_each_size_goes_to_a_network():
    for network, sizes in SIZES.items():
        for size in sizes:
            (x,) = inputs_at(network, size, torch.empty(0))
            assert x.shape[: len(size)] == size
            assert len(x.shape) == len(NETWORKS[network].shape) + 1


def test_a_network_is_called_at_all_sizes_by_one_model(monkeypatch):
    own = {name: how for name, how in MODELS.items() if name.startswith("hidet")}
    monkeypatch.setattr("benchmarks.dynamic.MODELS", own)
    rows = list(measure_dynamic("mlp", [(2,), (3,)], torch.float32, "cpu", 0.01))
    assert [each.system for each in rows[::2]] == ["eager", *own]
    assert not any(each.failure for each in rows)
    assert all(each.error < 1e-5 for each in rows)


def test_the_table_says_how_much_longer_dynamic_takes():
    times = {"hidet static": 2.0, "hidet dynamic": 3.0}
    rows = [DynamicRow("net", (8, 128), name, time, 0.0) for name, time in times.items()]
    text = dynamic_table([*rows, DynamicRow("net", (8, 128), "eager", float("nan"), 0.0, "no")])
    assert "8 x 128" in text
    assert "1.50 (geomean)" in text
    assert "net (8, 128) eager: no" in text


def test_a_u_net_gives_a_picture_of_the_same_size():
    model, (x,) = build("unet")
    with torch.no_grad():
        assert model(x[..., :16, :24]).shape == (1, 2, 16, 24)
    assert sum(each.numel() for each in UNet().parameters()) == 7_700_226
