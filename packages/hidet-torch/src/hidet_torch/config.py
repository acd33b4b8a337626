"""`hidet.torch.dynamo_config`: defaults for all compiles that follow, by the names users know."""

from __future__ import annotations

from typing import Any, Literal, Self

from hidet_torch.settings import DEFAULTS, check, meant


class DynamoConfig:
    """Each method sets one default and gives the object back; `torch.compile` options win.

    Options of torch.compile have the same names: `options={"use_fp16": True}`.
    """

    def search_space(self, level: int = 2) -> Self:
        """How many schedules to try for each operator: 0 none, 1 the best few, 2 all."""
        return self._set("search_space", level)

    def tune_seconds(self, seconds: int = 60) -> Self:
        """How long trying schedules may take in one compilation; 0: no limit."""
        return self._set("tune_seconds", seconds)

    def use_tensor_core(self, flag: bool = True) -> Self:
        """Let tensor cores multiply float32 rounded to tf32; False: nothing on tensor cores."""
        return self._set("use_tensor_core", flag)

    def use_fp16(self, flag: bool = True) -> Self:
        """Compute float32 models in float16; inputs and results keep their types."""
        return self._set("use_fp16", flag)

    def precision(self, dtype: Literal["", "float16", "bfloat16"] = "bfloat16") -> Self:
        """Compute float32 models in this type; `""`: in their own."""
        return self._set("precision", dtype)

    def use_fp16_reduction(self, flag: bool = True) -> Self:
        """Accumulate float16 matmuls in float16 on tensor cores."""
        return self._set("use_fp16_reduction", flag)

    def parallel_k(self, share: str | int = "default") -> Self:
        """Split-K: among how many blocks k is split: default, search, disabled, or a number."""
        return self._set("parallel_k", share)

    def use_cuda_graph(self, flag: bool = True) -> Self:
        """Launch kernels by CUDA graphs."""
        return self._set("use_cuda_graph", flag)

    def dump_graph_ir(self, folder: str) -> Self:
        """Write every stage of compilation to a folder."""
        return self._set("dump_graph_ir", folder)

    def print_input_graph(self, flag: bool = True) -> Self:
        """Print each graph that PyTorch hands over."""
        return self._set("print_input_graph", flag)

    def correctness_report(self, flag: bool | str = True) -> Self:
        """Print how far each operator is off, on the inputs of the first call of each graph.

        Operators are compared with PyTorch's results, or with `"float64"` with numpy's.
        """
        return self._set("correctness_report", flag)

    def steal_weights(self, flag: bool = True) -> Self:
        """Hold weights once: those that were only moved lie in what was made of them.

        Others that only another form is read of, such as a float16 one, are given back: the model
        itself, and graphs compiled of it later, cannot use these any more.
        """
        return self._set("steal_weights", flag)

    def use_attention(self, flag: bool = True) -> Self:
        """Find attention that a model spells out, and keep it whole where a kernel computes it."""
        return self._set("use_attention", flag)

    def reset(self) -> Self:
        """Forget everything set here."""
        DEFAULTS.clear()
        return self

    def _set(self, name: str, value: Any) -> Self:
        chosen = meant({name: value})
        for each, known in chosen.items():
            check(each, known)
        DEFAULTS.update(chosen)
        return self


dynamo_config = DynamoConfig()
"""The defaults of this process."""
