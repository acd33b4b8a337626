"""Linear attention, and the short convolution that models put before it: both carry a state."""

from __future__ import annotations

from hidet import ops
from hidet.compute.sizes import tidy
from hidet.errors import BadArgument
from hidet.graph import Tensor
from hidet.types import f32
from hidet_onnx.converters.attention import heads
from hidet_onnx.converters.steps import scanned
from hidet_onnx.converters.table import onnx

RULES = {"linear": (0, 0), "gated": (1, 0), "delta": (0, 1), "gated_delta": (1, 1)}
"""For each rule whether the state decays, and whether what it has already is taken off values."""


@onnx("LinearAttention", since=27)
def linear_attention(
    query: Tensor, key: Tensor, value: Tensor, past_state: Tensor | None = None,
    decay: Tensor | None = None, beta: Tensor | None = None, *,
    chunk_size: int = 64, kv_num_heads: int, q_num_heads: int, scale: float = 0.0,
    update_rule: str = "gated_delta",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Values read from a state to which each step adds key (x) value; the outputs, the last state.

    All is computed in float32; operands are [batch, steps, heads * size].
    """
    if update_rule not in RULES:
        raise BadArgument(f"there is no update_rule {update_rule!r}", help=", ".join(RULES))
    needs = dict(zip(("decay", "beta"), RULES[update_rule], strict=True))
    for name, given in (("decay", decay), ("beta", beta)):
        if (given is not None) != bool(needs[name]):
            raise BadArgument(f"update_rule {update_rule!r} and the operand {name} do not fit")
    q, k, v = steps(query, q_num_heads), steps(key, kv_num_heads), steps(value, kv_num_heads)
    shape = (query.shape[0], kv_num_heads, k.shape[-1], v.shape[-1])
    state = ops.zeros(shape, f32, device=query.device) if past_state is None else past_state
    inputs = [q, k, v]
    if decay is not None:
        inputs.append(steps(decay, kv_num_heads))
    if beta is not None:
        inputs.append(steps(beta, kv_num_heads if beta.shape[-1] != 1 else 1))
    group = q_num_heads // kv_num_heads

    def step(state: Tensor, *given: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        q, k, v, *rest = given
        if decay is not None:
            state = ops.multiply(state, ops.unsqueeze(ops.exp(rest.pop(0)), -1))
        if beta is not None:
            there = ops.squeeze(ops.matmul(ops.unsqueeze(k, -2), state), -2)
            v = ops.multiply(rest.pop(0), ops.subtract(v, there))
        state = ops.add(state, ops.multiply(ops.unsqueeze(k, -1), ops.unsqueeze(v, -2)))
        every = ops.repeat_interleave(state, group, 1)
        return [state], [ops.squeeze(ops.matmul(ops.unsqueeze(q, -2), every), -2)]

    (last,), (rows,) = scanned(step, [ops.cast(state, f32)], inputs)
    size = k.shape[-1]
    if not scale and not isinstance(size, int):
        raise BadArgument(f"the head size {size} is symbolic", help="give the scale")
    factor = scale or float(size) ** -0.5  # type: ignore[arg-type]
    found = ops.permute(ops.multiply(rows, factor), (1, 0, 2, 3))
    batch, count, *_ = found.shape
    output = ops.reshape(found, (batch, count, tidy(q_num_heads * v.shape[-1])))
    kept = query.dtype if past_state is None else past_state.dtype
    return ops.cast(output, query.dtype), ops.cast(last, kept)


def steps(x: Tensor, count: int) -> Tensor:
    """x[batch, steps, heads * size] as [steps, batch, heads, size] in float32."""
    return ops.permute(ops.cast(heads(x, count), f32), (2, 0, 1, 3))


@onnx("CausalConvWithState", since=27)
def causal_conv_with_state(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, past_state: Tensor | None = None, *,
    activation: str = "none",
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Each channel convolved with what came before it, then what comes before the next call."""
    before = tidy(weight.shape[2] - 1)
    if past_state is None:
        whole = ops.pad(x, [(0, 0), (0, 0), (before, 0)])
    else:
        whole = ops.concat((past_state, x), 2)
    channels = x.shape[1]
    if not isinstance(channels, int):
        raise BadArgument("CausalConvWithState of channels that only a call tells")
    found = ops.conv(whole, weight, bias, groups=channels)
    if activation in ("silu", "swish"):
        found = ops.silu(found)
    elif activation != "none":
        raise BadArgument(f"CausalConvWithState has no activation {activation!r}")
    return found, ops.slice(whole, 2, tidy(whole.shape[2] - before), None)
