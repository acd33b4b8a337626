"""What decides, besides a graph of Dynamo's, how PyTorch traces it: its inputs and PyTorch's state.

None where something takes part that cannot be told from everything else.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch._functorch import config
from torch.backends import cuda, cudnn, mha, mkldnn, opt_einsum
from torch.utils import deterministic

from hidet.frontend.importing.known import digest_of_sources
from hidet_torch.__about__ import __version__


def state() -> list[str] | None:
    """What is set in PyTorch that tracing looks at."""
    if is_watched() or torch._C._is_any_autocast_enabled():
        return None
    return [str(each) for each in (versions(), *modes(), *libraries(), config.get_hash().hex())]


def modes() -> list[object]:
    """How PyTorch computes unless it is told otherwise."""
    return [
        (torch.is_grad_enabled(), torch.is_inference_mode_enabled()),
        (torch.get_default_dtype(), torch.get_float32_matmul_precision()),
        [torch.get_autocast_dtype(each) for each in ("cpu", "cuda")],
        torch.is_autocast_cache_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        deterministic.fill_uninitialized_memory,
        torch.cuda.current_device() if torch.cuda.is_initialized() else None,
    ]


def libraries() -> list[object]:
    """What PyTorch may use to compute."""
    return [
        (cudnn.version(), cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32),
        (cuda.matmul.allow_tf32, cuda.flash_sdp_enabled(), cuda.mem_efficient_sdp_enabled()),
        (cuda.math_sdp_enabled(), cuda.cudnn_sdp_enabled(), mha.get_fastpath_enabled()),
        (mkldnn.enabled, opt_einsum.enabled, opt_einsum.strategy),
    ]


def is_watched() -> bool:
    """Whether modes or transforms of PyTorch's see what is traced."""
    stacks = torch._C._len_torch_function_stack() + torch._C._len_torch_dispatch_stack()
    return bool(stacks) or torch._C._functorch.peek_interpreter_stack() is not None


@cache
def versions() -> str:
    """Which PyTorch this is, on what it runs, and which sources of ours."""
    own = f"{__version__} {digest_of_sources(str(Path(__file__).parents[1]))}"
    build = (torch.__version__, torch.version.git_version, torch.version.cuda)
    return f"{own} {build} {torch.backends.cpu.get_cpu_capability()}"


def inputs_text(
    graph: torch.fx.Graph, inputs: Sequence[Any], weights: Container[int]
) -> list[str] | None:
    """The inputs of a graph without their values; `weights` are the numbers of those."""
    examples = [each.meta.get("example_value") for each in graph.find_nodes(op="placeholder")]
    if not all(map(is_fixed, inputs, examples)) or len(inputs) != len(examples):
        return None
    first = {id(each): place for place, each in reversed([*enumerate(inputs)])}
    return [
        f"{input_text(each)} {first[id(each)]} {place in weights}"
        for place, each in enumerate(inputs)
    ]


def is_fixed(value: Any, example: Any) -> bool:
    """Whether an input is a tensor as such, of which Dynamo knows all sizes."""
    if type(value) not in (torch.Tensor, torch.nn.Parameter):
        return False
    if value.layout is not torch.strided or value.device.type not in ("cpu", "cuda"):
        return False
    if not isinstance(example, torch.Tensor):
        return False
    sizes = (*example.shape, *example.stride(), example.storage_offset())
    return all(type(size) is int for size in sizes)


def input_text(x: torch.Tensor) -> str:
    """All that tracing can see of a tensor."""
    lies = (tuple(x.shape), x.stride(), x.storage_offset())
    flags = (x.requires_grad, x.is_conj(), x.is_neg(), x.is_inference(), x.is_quantized)
    return f"{x.dtype} {x.device} {lies} {flags}"
