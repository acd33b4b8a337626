"""Hidet: a deep-learning compiler for inference.

This module is a table of public names, each found where it is defined when it is first used:
`import hidet` itself loads nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from hidet.__about__ import __version__

MODULES = (
    "compute",
    "driver",
    "errors",
    "frontend",
    "fusion",
    "graph",
    "ir",
    "lang",
    "mapping",
    "ops",
    "options",
    "runtime",
    "schedules",
    "sim",
    "target",
    "testing",
    "tuning",
    "types",
    "utils",
)
"""Modules that are attributes: `hidet.ops.relu` needs no import of its own."""

FRONTENDS = ("torch", "onnx", "tf")
"""Attributes that are the installed frontend packages."""

SHORT_TYPES = (
    *("DType", "f64", "f32", "tf32", "f16", "bf16", "f8e4m3", "f8e5m2"),
    *("f8e4m3fnuz", "f8e5m2fnuz", "f8e8m0", "f6e2m3", "f6e3m2", "f4e2m1", "i2", "i4", "u2", "u4"),
    *("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "boolean"),
)

NAMES: dict[str, str] = {
    "script": "hidet.lang.script:script",
    "script_module": "hidet.lang.script:script_module",
    "Tensor": "hidet.graph:Tensor",
    "FlowGraph": "hidet.graph:FlowGraph",
    "symbol": "hidet.graph:symbol",
    "symbol_like": "hidet.graph:symbol_like",
    "symbol_var": "hidet.graph.dims:size_symbol",
    "trace_from": "hidet.graph:trace_from",
    "asarray": "hidet.graph:asarray",
    "empty": "hidet.graph:empty",
    "empty_like": "hidet.graph:empty_like",
    "from_dlpack": "hidet.graph:from_dlpack",
    "from_numpy": "hidet.graph:from_numpy",
    "from_torch": "hidet.graph:from_torch",
    "manual_seed": "hidet.graph:manual_seed",
    "rand": "hidet.graph:rand",
    "randint": "hidet.graph:randint",
    "randn": "hidet.graph:randn",
    "randn_like": "hidet.graph:randn_like",
    "full": "hidet.ops:full",
    "zeros": "hidet.ops:zeros",
    "ones": "hidet.ops:ones",
    "full_like": "hidet.ops:full_like",
    "zeros_like": "hidet.ops:zeros_like",
    "ones_like": "hidet.ops:ones_like",
    "arange": "hidet.ops:arange",
    "linspace": "hidet.ops:linspace",
    "load": "hidet.build.compiled:load",
    "profile": "hidet.runtime.profiling.profiling:profile",
    "CompiledGraph": "hidet.build.compiled:CompiledGraph",
    "HidetError": "hidet.errors:HidetError",
    "Target": "hidet.target:Target",
    "spatial": "hidet.mapping:spatial",
    "repeat": "hidet.mapping:repeat",
    "auto_map": "hidet.mapping:auto_map",
    **{name: f"hidet.types:{name}" for name in SHORT_TYPES},
    **{
        long: f"hidet.types:{short}"
        for long, short in {
            "float64": "f64",
            "float32": "f32",
            "tfloat32": "tf32",
            "float16": "f16",
            "bfloat16": "bf16",
            "float8_e4m3": "f8e4m3",
            "float8_e5m2": "f8e5m2",
            "float8_e4m3fnuz": "f8e4m3fnuz",
            "float8_e5m2fnuz": "f8e5m2fnuz",
            "float8_e8m0": "f8e8m0",
            "float6_e2m3": "f6e2m3",
            "float6_e3m2": "f6e3m2",
            "float4_e2m1": "f4e2m1",
            "int2": "i2",
            "int4": "i4",
            "uint2": "u2",
            "uint4": "u4",
            "int8": "i8",
            "int16": "i16",
            "int32": "i32",
            "int64": "i64",
            "uint8": "u8",
            "uint16": "u16",
            "uint32": "u32",
            "uint64": "u64",
        }.items()
    },
}
"""Where each public name is defined, as `module:attribute`."""


def __getattr__(name: str) -> Any:
    if name in NAMES:
        module, _, attribute = NAMES[name].partition(":")
        found = getattr(import_module(module), attribute)
    elif name in MODULES:
        return import_module(f"hidet.{name}")
    elif name in FRONTENDS:
        found = import_module("hidet.frontend.discover").load(name)
    else:
        raise AttributeError(f"module 'hidet' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *NAMES, *MODULES, *FRONTENDS])


__all__ = ["__version__"]
