"""Kernels gathered into translation units, and units compiled: from the cache, or in parallel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hidet import options
from hidet.build.caching.cache import Cache, key_of
from hidet.build.caching.key import compiler_of
from hidet.build.caching.written import unit_of, written
from hidet.build.workers.pool import Crew, in_parallel, jobs
from hidet.codegen import cpu
from hidet.codegen.common.function import Function
from hidet.codegen.cpu.team import needs_team, team_source
from hidet.errors import CompilerError
from hidet.ir.kernel import Kernel
from hidet.runtime.team import TEAM
from hidet.target import Target
from hidet.toolchain import (
    CompiledCuda,
    compile_cpp,
    compile_cuda,
    flags_for,
)


@dataclass(frozen=True)
class Unit:
    """One translation unit: its source, and where its binary is kept."""

    name: str
    source: str
    key: str


class Units:
    """All kernels of one build; equal kernels are compiled once.

    Where a unit is one function (on CUDA) its compiler starts as soon as `take` has its text, if
    this is used as a context manager; leaving the block by an error stops all compilers. If
    `strict`, a kernel that spills registers, or is not what was meant, is a CompilerError.
    """

    def __init__(self, target: Target, strict: bool = False) -> None:
        self.target, self.strict = target, strict
        self.functions: dict[str, Function] = {}
        self.crew: Crew[Unit, bytes] | None = None

    def __enter__(self) -> Units:
        self.crew = Crew(self.binary).__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        crew, self.crew = self.crew, None
        if crew is not None:
            crew.__exit__(*error)

    def add(self, kernel: Kernel) -> None:
        """Let a lowered kernel in, under its unique name."""
        if kernel.name not in self.functions:
            self.take(written(kernel, self.target))

    def take(self, function: Function) -> None:
        """Let a function in, under its unique name."""
        if function.name not in self.functions:
            self.functions[function.name] = function
            if self.crew is not None and self.target.kind == "cuda":
                self.crew.start(self.unit([function]))

    def unit(self, functions: Sequence[Function]) -> Unit:
        """Some functions as a translation unit."""
        return self.named(unit_of(functions, self.target))

    def named(self, source: str) -> Unit:
        """A source as a unit, named after all that decides its binary."""
        key = key_of(source=source, target=str(self.target), compiler=self.compiler())
        return Unit(key[:16], source, key)

    def compile(
        self, title: str, together: Iterable[Sequence[Function]] | None = None
    ) -> tuple[dict[str, bytes], dict[str, str]]:
        """The binaries by name, and for each function the binary it is in.

        Functions that are `together` had better be in a binary of their own, as others have
        compiled them; by default there are as few as keep compilers busy.
        """
        groups = self.grouped() if together is None else self.apart(together)
        units = [self.unit(group) for group in groups]
        if needs_team(self.functions.values()):
            units.append(replace(self.named(team_source()), name=TEAM))
        kernels = zip(groups, units, strict=False)
        home = {each.name: unit.name for group, unit in kernels for each in group}
        if self.crew is None:
            binaries = in_parallel(self.binary, units, title)
        else:
            binaries = self.crew.results(units, title)
        return {unit.name: b for unit, b in zip(units, binaries, strict=True)}, home

    def apart(self, together: Iterable[Sequence[Function]]) -> list[list[Function]]:
        """The functions of each unit: on CUDA one, else those that are together, then the rest. One
        that is in several of these is compiled with each, as others have compiled it."""
        if self.target.kind == "cuda":
            return self.grouped()
        found: dict[tuple[str, ...], list[Function]] = {}
        for functions in together:
            mine = {each.name: each for each in functions}
            names = tuple(sorted(mine))
            found[names] = [mine[name] for name in names]
        known = {name for names in found for name in names}
        rest = [each for name, each in self.functions.items() if name not in known]
        return [each for each in (*found.values(), rest) if each]

    def grouped(self) -> list[list[Function]]:
        """The functions of each unit: on CUDA one, else as many as keep every compiler busy.

        Starting a C++ compiler costs more than compiling a kernel; NVRTC starts in process.
        """
        ordered = sorted(self.functions.values(), key=lambda function: function.name)
        if self.target.kind == "cuda":
            return [[function] for function in ordered]
        count = max(1, min(jobs(), len(ordered) // 4))
        return [part for start in range(count) if (part := ordered[start::count])]

    def compiler(self) -> dict[str, object]:
        """What, besides source and target, decides what the compiler makes."""
        flags = {"flags": self.flags()} if self.target.kind == "cpu" else {}
        return {**compiler_of(self.target), **flags}

    def binary(self, unit: Unit) -> bytes:
        """A unit compiled, or found in the cache."""
        if self.target.simulated:
            return unit.source.encode()
        if not options.cache.get():
            return self.compiled(unit)
        if not self.strict:
            return Cache().made(unit.key, lambda: self.compiled(unit), unit.name)
        # What lies under the unit's own key may have been compiled without a look at it.
        vetted = key_of(vetted=unit.key)
        found = Cache().made(vetted, lambda: self.compiled(unit), unit.name)
        if Cache().get(unit.key) is None:
            Cache().put(unit.key, found, unit.name)
        return found

    def compiled(self, unit: Unit) -> bytes:
        """A unit compiled now."""
        if self.target.kind == "cuda":
            made = compile_cuda(unit.source, arch=str(self.target), name=unit.name)
            if self.strict:
                refuse_doubtful(made)
            return made.cubin
        return compile_cpp(unit.source, flags=self.flags())

    def flags(self) -> tuple[str, ...]:
        """What the C++ compiler is told: what generated code relies on, and instruction sets."""
        return (*cpu.FLAGS, *flags_for(self.target))


def refuse_doubtful(made: CompiledCuda) -> None:
    """Raise if kernels compiled, but not to what was meant."""
    spilled = sum(each.spill_bytes for each in made.usage.values())
    reasons = [*made.doubts, *([f"registers are spilled ({spilled} bytes)"] if spilled else [])]
    if reasons:
        raise CompilerError("; ".join(reasons))
