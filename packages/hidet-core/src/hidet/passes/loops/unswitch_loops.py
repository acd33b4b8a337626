"""Vector loops of which a condition holds in all iterations or in none are two loops, without
it."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from functools import reduce

from hidet.ir.certain import unconditional
from hidet.ir.expr import And, Const, Expr, Less, Load, Select, Var, convert, wrap
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Assign, Declare, For, If, Stmt, Store
from hidet.ir.walk import contains, find, introduced, replaced, substitute
from hidet.passes.base import kernel_pass
from hidet.passes.loops.fresh import copied
from hidet.passes.loops.vector_loops import with_vector_loops


@kernel_pass()
def unswitch_loops(kernel: Kernel) -> Kernel:
    """Ask once, ahead of a vector loop, whether a row that it reads is there.

    before   for j in vectorize(n):  y[j] = f(x[t[0], j] if 0 <= t[0] < m else 0)
    after    if 0 <= t[0] < m:  for j in vectorize(n):  y[j] = f(x[t[0], j])
             else:              the loop as it was

    The same where the loop reads one element or another. Where several conditions are asked and one
    does not hold, the loop stays as it was. What a condition reads at a place that the loops around
    tell is asked only if the loop has an iteration, and reads it in each.

    On a CPU only: compilers make no vectors of reads that may not happen.
    """
    return with_vector_loops(kernel, unswitched)


def unswitched(loop: For) -> Stmt:
    """A loop in the form above, if it has such conditions."""
    moved = {each.var for each in find(loop.body, Assign)}
    known: dict[Var, Expr] = {}
    for each in find(loop.body, Declare):
        if each.init is not None and each.var not in moved:
            known[each.var] = substitute(each.init, known)
    own = {loop.var, *moved, *introduced(loop.body)}
    written = {each.tensor for each in find(loop.body, Store)}
    always = read_always(loop)
    certain: dict[Expr, Expr] = {}
    refused: dict[Expr, Expr] = {}
    asked: dict[Expr, None] = {}
    for choice in find(loop.body, Select):
        meant = substitute(choice.condition, known)
        fixed = not any(e in own for e in find([meant], Var))
        if reads(choice) and fixed and is_there(meant, written, always):
            certain[choice], refused[choice] = choice.then, choice.otherwise
            asked[meant] = None
    if not asked:
        return loop
    plain = replace(loop, body=tuple(replaced(each, certain) for each in loop.body))
    if len(asked) == 1:
        loop = replace(loop, body=tuple(replaced(each, refused) for each in loop.body))
    asking = reduce(And, asked)
    if not all(map(is_at_known_place, find([asking], Load))):
        asking = And(Less(convert(wrap(0), loop.extent.dtype), loop.extent), asking)
    return If(asking, (copied((plain,), {})[0],), (loop,), loop.place)


def reads(choice: Select) -> bool:
    """Whether a choice computes something of what it reads or has a number, as padding has, or
    reads one element or another."""
    read = isinstance(choice.then, Load) and isinstance(choice.otherwise, Load)
    return read or (isinstance(choice.otherwise, Const) and contains(choice.then, Load))


def is_there(condition: Expr, written: Set[Expr], always: Set[Expr]) -> bool:
    """Whether what a condition reads may be read ahead of all other conditions: elements at known
    places or those that are `always` read, which the loop does not write."""
    return all(
        read.tensor not in written and (read in always or is_at_known_place(read))
        for read in find([condition], Load)
    )


def is_at_known_place(read: Load) -> bool:
    """Whether an element is there in every call."""
    return all(isinstance(each, Const) for each in read.index)


def read_always(loop: For) -> set[Expr]:
    """What each iteration of a loop reads under no condition."""
    plain = [each for each in loop.body if isinstance(each, Declare | Assign | Store)]
    found = unconditional(child for each in plain for child in each.children())
    return {each for each in found if isinstance(each, Load)}
