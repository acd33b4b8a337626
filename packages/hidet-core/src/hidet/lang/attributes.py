"""A kernel's attributes: `attr.cuda_grid_dim = ...`, also spelled `attrs.cuda.grid_dim = ...`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from inspect import get_annotations
from math import prod
from typing import Any

from hidet.errors import BadScript
from hidet.ir.expr import Builtin, Const, Expr, Get, Load, Var
from hidet.ir.kernel import ONE, KernelKind, Launch
from hidet.ir.walk import find
from hidet.lang.values import index, plain, spoken
from hidet.target import MAX_THREADS, MOST_SHARED_BYTES

HOST = "public"
INTERNAL = ("cuda_internal", "cpu_internal")
"""The kinds of functions that are parts of kernels, which they are without saying so."""
KINDS = {"cuda_kernel": KernelKind.CUDA, "cpu_kernel": KernelKind.CPU, HOST: HOST}


class Attributes:
    """What a script assigns its launch configuration to; sizes are one number or up to three."""

    func_kind: str
    """"cuda_kernel", "cpu_kernel", "public" (a host function), or "cuda_internal" and
    "cpu_internal" (a part of what calls it, as without attributes)."""
    func_name: str
    """The kernel's name in generated code; else that of the function."""
    cuda_grid_dim: Any
    """Blocks of the grid; may depend on sizes and numbers the kernel is given."""
    cuda_block_dim: Any
    """Threads of a block, at most 1024."""
    cuda_cluster_dim: Any
    """Blocks of a cluster, known beforehand (sm_90)."""
    cuda_dynamic_smem_bytes: int
    """Bytes behind `dynamic_shared`; shared tensors need none."""
    cuda_min_blocks: int
    """Blocks that a multiprocessor is to hold at once, which bounds registers."""

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix

    def named(self, name: str) -> str:
        """The attribute's one name; BadScript with the nearest one if there is none."""
        full = self.prefix + name
        if full in ATTRIBUTES:
            return full
        near = difflib.get_close_matches(full, ATTRIBUTES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(ATTRIBUTES)}"
        raise BadScript(f"there is no kernel attribute {full}", help=hint)

    @property
    def cuda(self) -> Any:
        """The attributes of CUDA kernels: `attrs.cuda.grid_dim` is `attr.cuda_grid_dim`."""
        return Attributes("cuda_")


ATTRIBUTES = tuple(get_annotations(Attributes))
"""The names of all attributes."""


attr = Attributes()
"""The attributes of the script function that is being read; see `Attributes`."""
attrs = attr
"""The same: `attrs.cuda.grid_dim` is `attr.cuda_grid_dim`."""


def check_attribute(name: str, value: Any, declared: frozenset[Var]) -> Any:
    """The value of an attribute in its one form; `declared` are variables only the kernel has."""
    value = plain(value)
    if name == "func_kind":
        if value not in KINDS:
            names = ", ".join([*KINDS, *INTERNAL])
            raise BadScript(f"there is no func_kind {value!r}", help=f"use {names}")
        return KINDS[value]
    if name == "func_name":
        if not isinstance(value, str) or not value.isidentifier():
            raise BadScript(f"func_name is an identifier, not {spoken(value)}")
        return value
    if name in ("cuda_grid_dim", "cuda_block_dim"):
        return dimensions(name, value, declared)
    if name == "cuda_cluster_dim":
        return tuple(constants(name, value))
    if not isinstance(value, int) or value < 0:
        raise BadScript(f"{name} is a number known beforehand, not {spoken(value)}")
    if name == "cuda_dynamic_smem_bytes" and value > MOST_SHARED_BYTES:
        raise BadScript(
            f"no GPU has {value} bytes of shared memory for a block; "
            f"the most is {MOST_SHARED_BYTES}",
            help="make the tiles smaller, or use fewer stages",
        )
    return value


def dimensions(name: str, value: Any, declared: frozenset[Var]) -> tuple[Expr, Expr, Expr]:
    """One to three sizes as three, each computable before the launch."""
    sizes = [index(size) for size in up_to_three(name, value)]
    for size in sizes:
        inside = [*find(size, Load), *find(size, Get), *find(size, Builtin)]
        if inside or declared.intersection(find(size, Var)):
            raise BadScript(
                f"{name} is `{size}`, which is known only inside of the kernel",
                help="compute it from sizes and parameters",
            )
        if isinstance(size, Const) and size.value < 1:
            raise BadScript(f"{name} has the size {size.value}; sizes are at least 1")
    x, y, z = (*sizes, ONE, ONE)[:3]
    threads = prod(int(size.value) for size in (x, y, z) if isinstance(size, Const))
    if name == "cuda_block_dim" and threads > MAX_THREADS:
        raise BadScript(
            f"a block has at most {MAX_THREADS} threads, not {threads}",
            help="let each thread do more, or launch more blocks",
        )
    return x, y, z


def constants(name: str, value: Any) -> list[int]:
    """One to three positive numbers as three."""
    sizes = [plain(size) for size in up_to_three(name, value)]
    for size in sizes:
        if not isinstance(size, int) or size < 1:
            raise BadScript(f"{name} is positive numbers known beforehand, not {spoken(size)}")
    return [*sizes, 1, 1][:3]


def up_to_three(name: str, value: Any) -> Sequence[Any]:
    """A size, or a sequence of up to three, as a sequence."""
    sizes = value if isinstance(value, tuple | list) else (value,)
    if not 1 <= len(sizes) <= 3:
        raise BadScript(f"{name} has one to three sizes, not {len(sizes)}")
    return sizes


def kernel_kind(attributes: Mapping[str, Any]) -> KernelKind:
    """Where the kernel runs: on a CUDA device unless `func_kind` says otherwise."""
    kind = attributes.get("func_kind", KernelKind.CUDA)
    cuda = [name for name in attributes if name.startswith("cuda_")]
    if kind is not KernelKind.CUDA and cuda:
        named = f"function of kind {HOST}" if kind == HOST else "cpu_kernel"
        raise BadScript(f"a {named} has no {cuda[0]}", help="remove it")
    if kind == HOST:
        return KernelKind.CPU  # its own statements run there, where it launches nothing
    if kind is KernelKind.CUDA and "cuda_block_dim" not in attributes:
        raise BadScript(
            "the kernel does not say how many threads run it",
            help='set attr.cuda_grid_dim and attr.cuda_block_dim, or attr.func_kind = "cpu_kernel"',
        )
    return kind  # type: ignore[no-any-return]


def launch(attributes: Mapping[str, Any]) -> Launch:
    """The launch configuration that the attributes say."""
    one = (ONE, ONE, ONE)
    return Launch(
        grid=attributes.get("cuda_grid_dim", one),
        block=attributes.get("cuda_block_dim", one),
        cluster=attributes.get("cuda_cluster_dim", (1, 1, 1)),
        shared_bytes=attributes.get("cuda_dynamic_smem_bytes", 0),
        min_blocks=attributes.get("cuda_min_blocks", 0),
    )
