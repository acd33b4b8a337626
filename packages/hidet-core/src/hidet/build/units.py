"""Kernels gathered into translation units, and units compiled: from the cache, or in parallel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hidet import options
from hidet.build.cache import Cache, key_of
from hidet.build.workers import in_parallel, jobs
from hidet.codegen import cpu, cuda
from hidet.ir.kernel import Kernel
from hidet.ir.stored import stored
from hidet.target import Target
from hidet.toolchain import compile_cpp, compile_cuda, cpp_version, cuda_version, flags_for


@dataclass(frozen=True)
class Unit:
    """One translation unit: its source, and where its binary is kept."""

    name: str
    source: str
    key: str


@dataclass
class Units:
    """All kernels of one build; equal kernels are compiled once."""

    target: Target
    kernels: dict[str, Kernel] = field(default_factory=dict)

    def add(self, kernel: Kernel) -> None:
        """Let a lowered kernel in, under its unique name."""
        self.kernels.setdefault(kernel.name, kernel)

    def compile(self, title: str) -> tuple[dict[str, bytes], dict[str, str]]:
        """The binaries by name, and for each kernel the binary it is in."""
        emit = self.emit()
        units, home = [], {}
        for group in self.grouped():
            source = emit(group)
            key = key_of(source=source, target=str(self.target), compiler=self.compiler())
            unit = Unit(key[:16], source, key)
            units.append(unit)
            home.update({kernel.name: unit.name for kernel in group})
        binaries = in_parallel(self.binary, units, title)
        return {unit.name: b for unit, b in zip(units, binaries, strict=True)}, home

    def emit(self) -> Callable[[list[Kernel]], str]:
        """What writes down the kernels of a unit."""
        if self.target.simulated:
            return stored
        return cuda.emit if self.target.kind == "cuda" else cpu.emit

    def grouped(self) -> list[list[Kernel]]:
        """The kernels of each unit: on CUDA one, else as many as keep every compiler busy.

        Starting a C++ compiler costs more than compiling a kernel; NVRTC starts in process.
        """
        ordered = sorted(self.kernels.values(), key=lambda kernel: kernel.name)
        if self.target.kind == "cuda":
            return [[kernel] for kernel in ordered]
        count = max(1, min(jobs(), len(ordered) // 4))
        return [part for start in range(count) if (part := ordered[start::count])]

    def compiler(self) -> dict[str, object]:
        """What, besides source and target, decides what the compiler makes."""
        if self.target.simulated:
            return options.code_key()
        if self.target.kind == "cuda":
            return {"version": cuda_version(), **options.code_key()}
        return {"version": cpp_version(), "flags": self.flags(), **options.code_key()}

    def binary(self, unit: Unit) -> bytes:
        """A unit compiled, or found in the cache."""
        if self.target.simulated:
            return unit.source.encode()
        if not options.cache.get():
            return self.compiled(unit)
        return Cache().made(unit.key, lambda: self.compiled(unit), unit.name)

    def compiled(self, unit: Unit) -> bytes:
        """A unit compiled now."""
        if self.target.kind == "cuda":
            return compile_cuda(unit.source, arch=str(self.target), name=unit.name).cubin
        return compile_cpp(unit.source, flags=self.flags())

    def flags(self) -> tuple[str, ...]:
        """What the C++ compiler is told: what generated code relies on, and instruction sets."""
        return (*cpu.FLAGS, *flags_for(self.target))
