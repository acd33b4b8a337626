"""`PassContext`: options of graph passes and of products, by the names that users know."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any, Literal, Self

from hidet.errors import BadArgument
from hidet.options import checked, set_here

Precision = Literal["float16", "bfloat16", "float32"]


class PassContext:
    """`with PassContext() as context: context.set_precision("float16")` sets options for the block.

    They hold for whatever is optimised or compiled in it: `hidet.graph.optimize(graph)`,
    `graph.build()`, calls. What is set before the block begins to hold with it. Each method gives
    the context back. The same options can be set by `hidet.options.options(...)`.
    """

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.leave: Any = None

    def __enter__(self) -> Self:
        if self.leave is not None:
            raise BadArgument("this PassContext is in force already", help="make another one")
        self.leave = set_here(self.values)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()
        self.leave = None

    def set_precision(self, dtype: Precision | None = None) -> Self:
        """Compute float32 graphs in float16 or bfloat16; None or float32: in their own type."""
        return self._set(precision="" if dtype in (None, "float32") else dtype)

    def set_reduce_precision(self, dtype: Literal["float16", "float32"] | None = None) -> Self:
        """Accumulate float16 matmuls in float16 on tensor cores; None or float32: in float32."""
        if dtype not in (None, "float16", "float32"):
            raise BadArgument(f"products cannot be summed in {dtype!r}", help="use float16")
        return self._set(fp16_reduction=dtype == "float16")

    def set_mma(self, units: str) -> Self:
        """Multiply matrices on CUDA cores, or on tensor cores where types allow."""
        if units == "wmma":
            raise BadArgument("no schedule uses wmma instructions", help="use 'mma'")
        return self._set(mma=units)

    def allow_tf32(self, flag: bool = True) -> Self:
        """Let tensor cores multiply float32 rounded to tf32."""
        return self._set(tf32=flag)

    def set_use_attention(self, flag: bool = True) -> Self:
        """Find attention that a model spells out, and keep it whole where a kernel computes it."""
        return self._set(attention=flag)

    def set_parallel_k(
        self,
        default: bool = False,
        disabled: bool = False,
        search: bool = False,
        nparts: int | None = None,
    ) -> Self:
        """Split-K: among how many blocks k is split; exactly one of the four is given."""
        words = [
            name
            for name, given in (("default", default), ("disabled", disabled), ("search", search))
            if given
        ]
        chosen = words + ([] if nparts is None else [nparts])
        if len(chosen) != 1:
            raise BadArgument("give one of default=True, disabled=True, search=True, nparts=4")
        return self._set(parallel_k=chosen[0])

    def set_verbose(self, flag: bool = True) -> Self:
        """Print what each pass does to a graph, and how long it takes."""
        return self._set(verbose=flag)

    def save_graph_instrument(self, out_dir: str | os.PathLike[str]) -> Self:
        """Write each graph to a folder after each of its passes."""
        return self._set(save_graph=os.fspath(out_dir))

    def profile_pass_instrument(
        self, log_file: str | os.PathLike[str] = "", print_stdout: bool = False
    ) -> Self:
        """Write the time of each pass to a file, or print it."""
        if not log_file and not print_stdout:
            raise BadArgument("say where times go", help="log_file='passes.txt' or print_stdout")
        chosen: dict[str, Any] = {"profile_passes": os.fspath(log_file)} if log_file else {}
        return self._set(**chosen, **({"verbose": True} if print_stdout else {}))

    def _set(self, **values: Any) -> Self:
        self.values |= checked(values)
        if self.leave is not None:
            set_here(values)
        return self


DROPPED = {
    "add_quantize_rules": "no pass quantises; a model that was quantised before runs as it is",
    "reduce_cuda_compile_mem": "compiling never computes constants: they are derived when loaded",
    "reduce_hip_compile_mem": "there is no HIP target",
    "allow_source_graph_removal": "passes share tensors and copy none: there is nothing to free",
}
"""Methods of the original that are not here, and why."""
