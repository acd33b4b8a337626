"""Mixtures of experts: each token goes through the layers that its router prefers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hidet import ops
from hidet.errors import BadArgument, NotYet
from hidet.graph import Tensor
from hidet.types import f32, i64, u8
from hidet_onnx.converters.microsoft.packed_weights import unpacked
from hidet_onnx.converters.table import microsoft


@microsoft("MoE")
def moe(
    x: Tensor, router: Tensor, first: Tensor, first_bias: Tensor | None, second: Tensor,
    second_bias: Tensor | None = None, third: Tensor | None = None,
    third_bias: Tensor | None = None, *,
    activation_alpha: float = 1.0, activation_beta: float = 0.0, activation_type: str = "relu",
    k: int = 1, normalize_routing_weights: int = 0, swiglu_fusion: int = 0,
    swiglu_limit: float | None = None, swiglu_limit_after_activation: int = 0,
    use_sparse_mixer: int = 0,
) -> Tensor:  # fmt: skip
    """The sum of k experts for each row of x[..., width], weighed by the router's softmax.

    Weights are [experts, outputs, inputs], the router's scores [tokens, experts].
    """
    if use_sparse_mixer or swiglu_limit_after_activation:
        raise NotYet("a sparse mixer, or a limit after the activation")
    gate = Gate(activation_type, activation_alpha, activation_beta, swiglu_fusion, swiglu_limit)
    routes = Routes.of(router, k, bool(normalize_routing_weights))
    rows = routes.sorted(ops.reshape(x, (-1, x.shape[-1])))
    hidden = routes.layer(rows, first, first_bias)
    other = None if third is None else routes.layer(rows, third, third_bias)
    found = routes.layer(gate(hidden, other), second, second_bias)
    return ops.reshape(routes.summed(found), x.shape)


@microsoft("QMoE")
def qmoe(
    x: Tensor, router: Tensor, first: Tensor, first_scale: Tensor | None,
    first_bias: Tensor | None, second: Tensor, second_scale: Tensor | None = None,
    second_bias: Tensor | None = None,
    third: Tensor | None = None, third_scale: Tensor | None = None,
    third_bias: Tensor | None = None, first_zero: Tensor | None = None,
    second_zero: Tensor | None = None, third_zero: Tensor | None = None,
    router_weights: Tensor | None = None, *scales_of_floats: Tensor | None,
    accuracy_level: int = 0, activation_alpha: float = 1.0, activation_beta: float = 0.0,
    activation_type: str = "relu", block_size: int = 0, expert_weight_bits: int = 4,
    fc1_expert_weight_bits: int = 0, fc2_expert_weight_bits: int = 0,
    fc3_expert_weight_bits: int = 0, k: int = 1, normalize_routing_weights: int = 0,
    quant_type: str = "int", swiglu_fusion: int = 0, swiglu_limit: float | None = None,
    swiglu_limit_after_activation: int = 0, use_sparse_mixer: int = 0, weights_prepacked: int = -1,
) -> Tensor:  # fmt: skip
    """MoE whose weights are packed, with a scale for each row or each block of it.

    They are unpacked once, to the type of x.
    """
    if quant_type != "int" or weights_prepacked > 0 or scales_of_floats:
        raise NotYet("experts packed for a kernel, or of narrow floats")
    if router_weights is not None:
        raise NotYet("weights of experts beside the scores that choose them")
    of_first = fc1_expert_weight_bits or expert_weight_bits
    of_second = fc2_expert_weight_bits or expert_weight_bits
    of_third = fc3_expert_weight_bits or expert_weight_bits
    weights = real_weights(first, first_scale, first_zero, of_first, block_size)
    return moe(
        x, router, ops.cast(weights, x.dtype), first_bias,
        ops.cast(real_weights(second, second_scale, second_zero, of_second, block_size), x.dtype),
        second_bias,
        None if third is None else
        ops.cast(real_weights(third, third_scale, third_zero, of_third, block_size), x.dtype),
        third_bias, activation_alpha=activation_alpha, activation_beta=activation_beta,
        activation_type=activation_type, k=k, normalize_routing_weights=normalize_routing_weights,
        swiglu_fusion=swiglu_fusion, swiglu_limit=swiglu_limit,
        swiglu_limit_after_activation=swiglu_limit_after_activation,
        use_sparse_mixer=use_sparse_mixer,
    )  # fmt: skip


def real_weights(
    packed: Tensor, scale: Tensor | None, zero: Tensor | None, bits: int, block: int
) -> Tensor:
    """Weights [experts, outputs, inputs] in float32 of packed ones."""
    if scale is None:
        raise BadArgument("packed experts have no scales")
    if bits not in (2, 4, 8) or packed.dtype is not u8:
        raise NotYet(f"experts of {bits} bits and {packed.dtype.name}")
    numbers = unpacked(packed, bits)
    wide = ops.cast(scale if scale.ndim == 3 else ops.unsqueeze(scale, -1), f32)
    middle: Tensor | float = 2.0 ** (bits - 1)
    if zero is not None:
        each = unpacked(zero if zero.ndim == 3 else ops.unsqueeze(zero, -1), bits)
        middle = by_block(ops.slice(each, -1, 0, wide.shape[-1]), block)
    return ops.multiply(ops.subtract(numbers, middle), by_block(wide, block))


def by_block(of: Tensor, block: int) -> Tensor:
    """What each block has, for each of its elements; one for a whole row as it is."""
    return ops.repeat_interleave(of, block, -1) if block and of.shape[-1] != 1 else of


@dataclass(frozen=True)
class Routes:
    """Which experts tokens go to: pairs of a token and an expert, sorted by experts."""

    weights: Tensor
    """[tokens, k]"""
    order: Tensor
    """The number of each pair, as they are sorted."""
    experts: Tensor
    """The expert of each sorted pair."""
    ends: Tensor
    """For each expert how many pairs come before the next one's."""
    k: int

    @classmethod
    def of(cls, router: Tensor, k: int, normalised: bool) -> Routes:
        """The k best experts of each token by scores [tokens, experts]."""
        weights, best = ops.topk(ops.softmax(ops.cast(router, f32), -1), k, -1)
        if normalised:
            weights = ops.divide(weights, ops.sum(weights, -1, keepdims=True))
        flat = ops.flatten(best)
        order = ops.argsort(flat)
        number = ops.reshape(ops.iota(router.shape[1], device=router.device), (-1, 1))
        ends = ops.sum(ops.cast(ops.less_equal(flat, number), i64), 1)
        return cls(weights, order, ops.embedding(flat, order), ends, k)

    def sorted(self, x: Tensor) -> Tensor:
        """The token's row of x for each pair."""
        return ops.embedding(x, ops.floor_divide(self.order, self.k))

    def layer(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Each pair's row through its expert's layer, of weights [experts, outputs, inputs]."""
        found = ops.grouped_matmul(x, weight, self.ends, transpose_w=True)
        return found if bias is None else ops.add(found, ops.embedding(bias, self.experts))

    def summed(self, x: Tensor) -> Tensor:
        """The weighed sum of each token's pairs."""
        back = ops.embedding(x, ops.argsort(self.order))
        each = ops.reshape(back, (*self.weights.shape, x.shape[-1]))
        found = ops.sum(ops.multiply(ops.cast(each, f32), ops.unsqueeze(self.weights, -1)), 1)
        return ops.cast(found, x.dtype)


PLAIN: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": ops.relu, "gelu": lambda x: ops.gelu(x, "tanh"), "silu": ops.silu,
    "identity": lambda x: x,
}  # fmt: skip


@dataclass(frozen=True)
class Gate:
    """What is between an expert's two layers."""

    kind: str
    alpha: float
    beta: float
    fusion: int
    limit: float | None

    def __call__(self, x: Tensor, other: Tensor | None) -> Tensor:
        """The activation of x, times what another layer gives; both may be in x."""
        if self.kind == "swiglu":
            return self.swiglu(*self.halves(x, other))
        if self.kind not in PLAIN:
            raise BadArgument(f"there is no activation {self.kind!r} of experts")
        found = PLAIN[self.kind](x)
        return found if other is None else ops.multiply(found, other)

    def halves(self, x: Tensor, other: Tensor | None) -> tuple[Tensor, Tensor]:
        """What is activated, and what it gates."""
        if self.fusion == 0:
            if other is None:
                raise BadArgument("swiglu of separate layers has no third weight")
            return x, other
        if self.fusion == 2:
            first, second = ops.chunk(x, 2, -1)
            return first, second
        pairs = ops.reshape(x, (*x.shape[:-1], -1, 2))
        return ops.select(pairs, -1, 0), ops.select(pairs, -1, 1)

    def swiglu(self, gate: Tensor, up: Tensor) -> Tensor:
        """The swish of the gate times the other half, both clamped."""
        if self.limit is not None:
            gate = ops.minimum(gate, self.limit)
            up = ops.clamp(up, -self.limit, self.limit)
        swished = ops.multiply(gate, ops.sigmoid(ops.multiply(gate, self.alpha)))
        return ops.multiply(swished, ops.add(up, self.beta))
