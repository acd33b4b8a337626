"""`hidet.torch.dynamo_config`: defaults for all compiles that follow, by the names users know."""

from __future__ import annotations

from typing import Any, Self

from hidet.errors import NotYet
from hidet_torch.settings import DEFAULTS, check


class DynamoConfig:
    """Each method sets one default and gives the object back; `torch.compile` options win."""

    def search_space(self, level: int = 2) -> Self:
        """How many schedules to try for each operator; no effect yet, as a warning says."""
        return self._set("search_space", level)

    def use_tensor_core(self, flag: bool = True) -> Self:
        """Let float32 products use tf32; no effect yet, as a warning says."""
        return self._set("tf32", flag)

    def use_fp16_reduction(self, flag: bool = True) -> Self:
        """Accumulate float16 products in float16; no effect yet, as a warning says."""
        return self._set("fp16_reduction", flag)

    def use_cuda_graph(self, flag: bool = True) -> Self:
        """Launch kernels by CUDA graphs."""
        return self._set("use_graph", flag)

    def dump_graph_ir(self, folder: str) -> Self:
        """Write every stage of compilation to a folder."""
        return self._set("dump", folder)

    def print_input_graph(self, flag: bool = True) -> Self:
        """Print each graph that PyTorch hands over."""
        return self._set("print_input_graph", flag)

    def reset(self) -> Self:
        """Forget everything set here."""
        DEFAULTS.clear()
        return self

    def use_fp16(self, flag: bool = True) -> Self:
        """Not there yet."""
        raise NotYet("use_fp16", help="convert the model: model.half(), or torch.autocast")

    def use_attention(self, flag: bool = True) -> Self:
        """Not there yet: attention is one operator wherever the model calls it as one."""
        raise NotYet(
            "use_attention", help="attention called by scaled_dot_product_attention stays whole"
        )

    def steal_weights(self, flag: bool = True) -> Self:
        """Not there yet."""
        raise NotYet("steal_weights", help="weights that need no change are shared already")

    def correctness_report(self, flag: bool = True) -> Self:
        """Not there yet."""
        raise NotYet("correctness_report", help="compare the outputs with those of the model")

    def _set(self, name: str, value: Any) -> Self:
        check(name, value)
        DEFAULTS[name] = value
        return self


dynamo_config = DynamoConfig()
