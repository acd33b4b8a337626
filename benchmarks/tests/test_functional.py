import torch

from benchmarks.functional import LAYERS, layer, network
from benchmarks.measure.systems import SYSTEMS


def test_each_layer_takes_its_weight():
    for x, w in LAYERS.values():
        made = layer(torch.empty(x, device="meta"), torch.empty(w, device="meta"))
        assert made.shape == (*x[:1], *w[:1], *x[2:])


def test_a_network_is_a_function_of_its_parameters():
    function, (x, *values) = network("mlp", 2, torch.float32, "cpu")
    with torch.no_grad():
        found = function(x, *values)
        assert SYSTEMS["eager"](function, (x, *values))().equal(found)
        assert not function(x, *(2 * each for each in values)).equal(found)
