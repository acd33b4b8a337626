"""Values that stay resident from one pass over a row to the next, in registers if they fit.

A softmax makes three passes over a row: for the maximum, for the sum of the powers, and to write.
Every thread has the same elements in each, so that the row is read once and each power is
computed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hidet.ir.expr import Cast, Div, Expr, Get, Load, Math, Var, constant
from hidet.ir.stmt import Body, Declare, Store
from hidet.ir.walk import find, replaced, variables
from hidet.schedules.automatic.plan import reductions
from hidet.types import Scope, TensorType, i32


class Resident:
    """The values that several of `passes` need, each in an array of `slots` elements.

    A pass is its element's value at `place`, the loop variables of all passes. The arrays lie in
    registers or in shared memory and take at most `nbytes`. No thread reads another's elements.
    """

    def __init__(
        self,
        passes: Sequence[Expr],
        place: tuple[Var, ...],
        slots: int,
        nbytes: int,
        scope: Scope = Scope.REGISTER,
    ) -> None:
        self.passes, self.place, self.scope, self.slots = passes, set(place), scope, slots
        self.arrays: dict[Expr, Var] = {}
        self.since: dict[Expr, int] = {}
        self.prefetched: list[Get] = []
        """Operands that only the last pass needs, loaded in the first."""
        if any(True for row_pass in passes for _ in reductions(row_pass)):
            return
        name = "resident" if scope is Scope.REGISTER else "in_shared"
        for number, row_pass in enumerate(passes):
            later = {e for other in passes[number + 1 :] for e in find(other, Expr)}
            for e in self.worth_it(row_pass, later):
                size = slots * e.dtype.nbytes
                if e not in self.arrays and size <= nbytes and not e.dtype.is_bool:
                    nbytes -= size
                    of = TensorType(e.dtype, (slots,), scope)
                    self.arrays[e] = Var(f"{name}{len(self.arrays)}", of)
                    self.since[e] = number

    def prefetch_operands(self, registers: int) -> None:
        """Load operands that only the last pass reads, such as weights, in the first pass: their
        latency overlaps with the reductions. With all other resident values they take at most so
        many registers, one for each element: narrow ones are computed with wide."""
        last = self.value(len(self.passes) - 1, constant(0, i32))
        for e in dict.fromkeys(find(last, Get)):
            fits = self.slots * (len(self.arrays) + 1) <= registers and e.dtype.nbytes <= 4
            if self.place & set(variables(e)) and fits and not e.dtype.is_bool:
                self.hold(e)
                self.prefetched.append(e)

    def hold(self, e: Expr) -> None:
        """Keep a value resident from the first pass on."""
        of = TensorType(e.dtype, (self.slots,), self.scope)
        self.arrays[e] = Var(f"held{len(self.arrays)}", of)
        self.since[e] = 0

    def worth_it(self, row_pass: Expr, later: set[Expr]) -> Iterator[Expr]:
        """The largest parts of `row_pass` that are needed later: whole if they cost or read much,
        else the one thing that they read."""
        if not self.place & set(variables(row_pass)):
            return
        if row_pass not in later:
            for child in row_pass.children():
                if isinstance(child, Expr):
                    yield from self.worth_it(child, later)
        elif any(self.costly(e) for e in find(row_pass, Expr)):
            yield widened(row_pass)
        else:
            found = [read for read in find(row_pass, Get) if self.place & set(variables(read))]
            yield from found if len(found) < 2 else [widened(row_pass)]

    def costly(self, e: Expr) -> bool:
        """Whether `e` is one of the slow functions, of something that differs along the row."""
        return isinstance(e, Math | Div) and bool(self.place & set(variables(e)))

    def reads(self) -> list[Get]:
        """What passes still read from memory, also to fill what the first one does not need."""
        slot, numbers = constant(0, i32), range(len(self.passes))
        later = [s.value for n in numbers[1:] for s in self.stores(n, slot)]
        found = [*(self.value(n, slot) for n in numbers), *later]
        return list(dict.fromkeys(read for e in found for read in find(e, Get)))

    def most_at_once(self) -> int:
        """Registers for what is needed of all elements between two passes; what is narrow is
        computed with wide."""
        slot, numbers = constant(0, i32), range(len(self.passes))
        each = [[self.value(n, slot), *(s.value for s in self.stores(n, slot))] for n in numbers]
        used = [{load.tensor for e in row_pass for load in find(e, Load)} for row_pass in each]
        most = 0
        for number in numbers[1:]:
            later = set().union(*used[number:])
            live = [a for e, a in self.arrays.items() if self.since[e] < number and a in later]
            most = max(most, self.slots * sum(-(-array.dtype.nbytes // 4) for array in live))
        return most

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        return sum(self.slots * array.dtype.nbytes for array in self.arrays.values())

    def declared(self) -> Body:
        """The arrays."""
        return tuple(Declare(array) for array in self.arrays.values())

    def stores(
        self, number: int, slot: Expr, there: Mapping[Expr, Expr] | None = None
    ) -> tuple[Store, ...]:
        """Fill what pass `number` is the first to need, of values that are `there` already."""
        body: tuple[Store, ...] = ()
        before = dict(there or {})
        before |= {e: Load(a, (slot,)) for e, a in self.arrays.items() if self.since[e] < number}
        for e, array in self.arrays.items():
            if self.since[e] == number:
                body += (Store(array, (slot,), replaced(e, before)),)
                before[e] = Load(array, (slot,))
        return body

    def value(self, number: int, slot: Expr) -> Expr:
        """The element of pass `number`, once `stores` has been done."""
        there = {e: Load(a, (slot,)) for e, a in self.arrays.items() if self.since[e] <= number}
        return replaced(self.passes[number], there)


def widened(e: Expr) -> Expr:
    """`e` before a cast to more bytes around it, if there is one."""
    return e.value if isinstance(e, Cast) and e.value.dtype.nbytes < e.dtype.nbytes else e
