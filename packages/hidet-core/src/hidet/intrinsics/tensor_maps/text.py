"""TMA as inline PTX. PTX ISA: cp.async.bulk.tensor, cp.reduce.async.bulk.tensor, and prefetches."""

from __future__ import annotations

from hidet.intrinsics.base import Spell
from hidet.intrinsics.tensor_maps.operands import map_of, offsets_of
from hidet.ir.expr import Expr
from hidet.ir.stmt import Invoke
from hidet.types import Im2col, TensorMapType


class Assembly:
    """An inline PTX instruction being written: operands get numbers as they are mentioned."""

    def __init__(self, spell: Spell) -> None:
        self.spell = spell
        self.inputs: list[str] = []

    def operand(self, constraint: str, text: str) -> str:
        """A new operand."""
        self.inputs.append(f'"{constraint}"({text})')
        return f"%{len(self.inputs) - 1}"

    def shared(self, pointer: Expr) -> str:
        """An address in shared memory."""
        text = f"static_cast<unsigned>(__cvta_generic_to_shared({self.spell(pointer)}))"
        return f"[{self.operand('r', text)}]"

    def box(self, map: Expr, positions: tuple[Expr, ...]) -> str:
        """A tensor map and a position in it, innermost axis first."""
        tensor = self.operand("l", f"&{self.spell(map)}")
        at = ", ".join(self.operand("r", self.spell(each)) for each in reversed(positions))
        return f"[{tensor}, {{{at}}}]"

    def half(self, value: Expr) -> str:
        """A 16-bit operand."""
        return self.operand("h", f"static_cast<unsigned short>({self.spell(value)})")

    def offsets(self, values: tuple[Expr, ...]) -> str:
        """The offsets of the filter, innermost axis first; nothing in tiled mode."""
        return f", {{{', '.join(self.half(each) for each in reversed(values))}}}" if values else ""

    def text(self, instruction: str, operands: str, cache: str | None) -> str:
        """The statement."""
        line = f"{instruction} {operands};"
        if cache is not None:
            policy = f"createpolicy.fractional.L2::{cache}.b64 policy, 1.0;"
            line = f"{instruction}.L2::cache_hint {operands}, policy;"
            line = f"{{ .reg .b64 policy; {policy} {line} }}"
        return f'asm volatile("{line}" :: {", ".join(self.inputs)} : "memory");'


def mode(of: TensorMapType, load: bool) -> str:
    """How an instruction calls the mode of a map."""
    if isinstance(of.box, Im2col):
        return "im2col" if load else "im2col_no_offs"
    return "tile"


def load_text(invoke: Invoke, spell: Spell) -> str:
    """Global to shared memory, of one block or of several."""
    of, asm = map_of(invoke, 1), Assembly(spell)
    multicast, cache = invoke.options
    target, map, barrier, *rest = invoke.args
    positions, offsets = tuple(rest[: of.rank]), tuple(rest[of.rank : of.rank + offsets_of(of)])
    operands = f"{asm.shared(target)}, {asm.box(map, positions)}, {asm.shared(barrier)}"
    operands += asm.offsets(offsets)
    operands += f", {asm.half(rest[-1])}" if multicast else ""
    several = ".multicast::cluster" if multicast else ""
    return asm.text(
        f"cp.async.bulk.tensor.{of.rank}d.shared::cluster.global.{mode(of, True)}"
        f".mbarrier::complete_tx::bytes{several}",
        operands,
        cache,
    )


def store_text(invoke: Invoke, spell: Spell) -> str:
    """Shared to global memory, replacing or combining."""
    of, asm = map_of(invoke, 0), Assembly(spell)
    *how, cache = invoke.options
    name = "cp.reduce.async" if how else "cp.async"
    operands = f"{asm.box(invoke.args[0], invoke.args[2:])}, {asm.shared(invoke.args[1])}"
    change = "".join(f".{each}" for each in how)
    return asm.text(
        f"{name}.bulk.tensor.{of.rank}d.global.shared::cta{change}.{mode(of, False)}.bulk_group",
        operands,
        cache,
    )


def prefetch_text(invoke: Invoke, spell: Spell) -> str:
    """Into the second cache."""
    of, asm = map_of(invoke, 0), Assembly(spell)
    positions, offsets = invoke.args[1 : 1 + of.rank], invoke.args[1 + of.rank :]
    operands = asm.box(invoke.args[0], positions) + asm.offsets(offsets)
    name = f"cp.async.bulk.prefetch.tensor.{of.rank}d.L2.global.{mode(of, True)}"
    return asm.text(name, operands, invoke.options[0])


def prefetch_map_text(invoke: Invoke, spell: Spell) -> str:
    """Into the cache of tensor maps."""
    asm = Assembly(spell)
    tensor = asm.operand("l", f"&{spell(invoke.args[0])}")
    return asm.text("prefetch.tensormap", f"[{tensor}]", None)
