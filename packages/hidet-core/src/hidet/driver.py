"""Building modules of script functions, under the name that users know."""

from __future__ import annotations

from hidet.build.module import CompiledFunction, build_module
from hidet.ir.kernel import Module
from hidet.target import Target


def build_ir_module(ir_module: Module, target: Target | str | None = None) -> CompiledFunction:
    """Compile a script module's `ir_module()`; see `hidet.build.module.build_module`."""
    return build_module(ir_module, target)
