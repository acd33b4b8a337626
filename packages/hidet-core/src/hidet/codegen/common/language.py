"""What all languages have in common: kernels by themselves, and together as one unit."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from hidet.codegen.common.function import Function
from hidet.codegen.common.heads import check_heads
from hidet.codegen.common.signs import Signs
from hidet.errors import at
from hidet.ir.expr import Var
from hidet.ir.kernel import Kernel, KernelKind


@dataclass(frozen=True)
class Language:
    """A language that kernels of one kind are written in."""

    kind: KernelKind
    prelude: Callable[[set[str]], str]
    """The text of the names that functions rely on."""
    function: Callable[[Kernel, Sequence[Kernel], set[str], Signs, Collection[Var]], str]
    """One kernel, among others in its unit, with the operands in whose place a result may lie; adds
    the prelude's names it relies on to the set."""

    def emit(self, kernels: Sequence[Kernel], signs: Callable[[], Signs] = Signs) -> str:
        """Lowered kernels as one translation unit.

        Functions have C linkage and the kernels' names. `signs` makes what proves indices not
        negative.
        """
        check_heads(kernels, self.kind)
        used: set[str] = set()
        functions = []
        for kernel in kernels:
            with at(kernel.place):
                functions.append(self.function(kernel, kernels, used, signs(), ()))
        return "\n".join([self.prelude(used), *functions])

    def written(self, kernel: Kernel, overwritten: Collection[Var] = ()) -> Function:
        """One lowered kernel as a function that `unit` can put beside others.

        Results may lie in the place of the operands that are `overwritten`.
        """
        check_heads([kernel], self.kind)
        used: set[str] = set()
        with at(kernel.place):
            text = self.function(kernel, [kernel], used, Signs(), overwritten)
        return Function(kernel.name, text, tuple(sorted(used)))

    def unit(self, functions: Sequence[Function]) -> str:
        """Functions as one translation unit."""
        used = {name for each in functions for name in each.used}
        return "\n".join([self.prelude(used), *(each.text for each in functions)])
