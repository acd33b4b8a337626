import pytest
import torch
from torch.nn import functional as F

from hidet_torch.converters.whole import LINEAR, RMS_NORM, SDPA, kept_whole


def test_calls_are_rewritten_except_with_dropout() -> None:
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    attend = F.scaled_dot_product_attention
    graph.call_function(attend, (x, x, x), {"is_causal": True})
    graph.call_function(attend, (x, x, x), {"dropout_p": 0.1})
    graph.call_function(torch._C._nn.linear, (x, x))
    graph.output(x)
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    targets = lambda: [node.target for node in graph.nodes if node.op == "call_function"]
    with kept_whole(module):
        assert targets() == [SDPA, attend, LINEAR]
    assert targets() == [attend, attend, torch._C._nn.linear]


def test_whole_operators_compute_what_pytorch_does() -> None:
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 2, 4, 5, 8)
    torch.testing.assert_close(SDPA(q, k, v), F.scaled_dot_product_attention(q, k, v))
    x, weight = torch.randn(3, 8), torch.randn(4, 8)
    torch.testing.assert_close(LINEAR(x, weight), F.linear(x, weight))
    torch.testing.assert_close(RMS_NORM(x, [8]), F.rms_norm(x, [8]))


def test_fake_attention_is_stored_rows_before_heads() -> None:
    q = torch.empty(2, 4, 5, 8, device="meta")
    found = SDPA(q, q, q)
    assert found.shape == (2, 4, 5, 8)
    assert found.transpose(1, 2).is_contiguous()


@pytest.mark.parametrize("double", [False, True])
def test_autocast_lowers_what_it_lowers_in_eager(double: bool) -> None:
    x, weight = torch.randn(3, 8), torch.randn(4, 8)
    if double:
        x, weight = x.double(), weight.double()
    with torch.autocast("cpu", torch.bfloat16):
        assert LINEAR(x, weight).dtype is F.linear(x, weight).dtype
        assert RMS_NORM(x, [8]).dtype is F.rms_norm(x, [8]).dtype
