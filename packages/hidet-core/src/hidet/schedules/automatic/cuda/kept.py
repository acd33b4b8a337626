"""What the threads of a row keep from one walk over it to the next, in registers if they can.

A softmax walks over a row three times: for the maximum, for the sum of the powers, and to write.
Every thread meets the same elements each time, so that the row is read once and each power is
computed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hidet.ir.expr import Cast, Div, Expr, Get, Load, Math, Var, constant
from hidet.ir.stmt import Body, Declare, Store
from hidet.ir.walk import find, replaced, variables
from hidet.schedules.automatic.plan import reductions
from hidet.types import Scope, TensorType, i32


class Kept:
    """The values that several of `walks` need, each in an array of `slots` elements.

    A walk is its element's value over `place`, the variables that all walks turn. The arrays lie
    in registers or in shared memory and take at most `nbytes`. No thread reads another's elements.
    """

    def __init__(
        self,
        walks: Sequence[Expr],
        place: tuple[Var, ...],
        slots: int,
        nbytes: int,
        scope: Scope = Scope.REGISTER,
    ) -> None:
        self.walks, self.place, self.scope, self.slots = walks, set(place), scope, slots
        self.arrays: dict[Expr, Var] = {}
        self.since: dict[Expr, int] = {}
        self.ahead: list[Get] = []
        """Operands that only the last walk needs."""
        if any(True for walk in walks for _ in reductions(walk)):
            return
        name = "kept" if scope is Scope.REGISTER else "left"
        for number, walk in enumerate(walks):
            later = {e for other in walks[number + 1 :] for e in find(other, Expr)}
            for e in self.worth_it(walk, later):
                size = slots * e.dtype.nbytes
                if e not in self.arrays and size <= nbytes and not e.dtype.is_bool:
                    nbytes -= size
                    of = TensorType(e.dtype, (slots,), scope)
                    self.arrays[e] = Var(f"{name}{len(self.arrays)}", of)
                    self.since[e] = number

    def fetch_ahead(self, registers: int) -> None:
        """Keep operands that only the last walk reads, such as weights, from the first walk on:
        they are on their way while threads wait for each other. With all else that is kept they
        take at most so many registers, one for each element: narrow ones are computed with wide."""
        last = self.value(len(self.walks) - 1, constant(0, i32))
        for e in dict.fromkeys(find(last, Get)):
            fits = self.slots * (len(self.arrays) + 1) <= registers and e.dtype.nbytes <= 4
            if self.place & set(variables(e)) and fits and not e.dtype.is_bool:
                self.hold(e)
                self.ahead.append(e)

    def hold(self, e: Expr) -> None:
        """Keep a value from the first walk on."""
        of = TensorType(e.dtype, (self.slots,), self.scope)
        self.arrays[e] = Var(f"held{len(self.arrays)}", of)
        self.since[e] = 0

    def worth_it(self, walk: Expr, later: set[Expr]) -> Iterator[Expr]:
        """The largest parts of `walk` that are needed later: whole if they cost or read much, else
        the one thing that they read."""
        if not self.place & set(variables(walk)):
            return
        if walk not in later:
            for child in walk.children():
                if isinstance(child, Expr):
                    yield from self.worth_it(child, later)
        elif any(self.costly(e) for e in find(walk, Expr)):
            yield widened(walk)
        else:
            found = [read for read in find(walk, Get) if self.place & set(variables(read))]
            yield from found if len(found) < 2 else [widened(walk)]

    def costly(self, e: Expr) -> bool:
        """Whether `e` is one of the slow functions, of something that differs along the row."""
        return isinstance(e, Math | Div) and bool(self.place & set(variables(e)))

    def reads(self) -> list[Get]:
        """What is still read in walks, or to fill what is kept later than from the first one on."""
        slot, numbers = constant(0, i32), range(len(self.walks))
        later = [s.value for n in numbers[1:] for s in self.stores(n, slot)]
        found = [*(self.value(n, slot) for n in numbers), *later]
        return list(dict.fromkeys(read for e in found for read in find(e, Get)))

    def most_at_once(self) -> int:
        """Registers for what is needed of all elements between two walks; what is narrow is
        computed with wide."""
        slot, numbers = constant(0, i32), range(len(self.walks))
        each = [[self.value(n, slot), *(s.value for s in self.stores(n, slot))] for n in numbers]
        used = [{load.tensor for e in walk for load in find(e, Load)} for walk in each]
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
        """Fill what walk `number` is the first to need, of values that are `there` already."""
        body: tuple[Store, ...] = ()
        before = dict(there or {})
        before |= {e: Load(a, (slot,)) for e, a in self.arrays.items() if self.since[e] < number}
        for e, array in self.arrays.items():
            if self.since[e] == number:
                body += (Store(array, (slot,), replaced(e, before)),)
                before[e] = Load(array, (slot,))
        return body

    def value(self, number: int, slot: Expr) -> Expr:
        """The element of walk `number`, once `stores` has been done."""
        there = {e: Load(a, (slot,)) for e, a in self.arrays.items() if self.since[e] <= number}
        return replaced(self.walks[number], there)


def widened(e: Expr) -> Expr:
    """`e` before a cast to more bytes around it, if there is one."""
    return e.value if isinstance(e, Cast) and e.value.dtype.nbytes < e.dtype.nbytes else e
