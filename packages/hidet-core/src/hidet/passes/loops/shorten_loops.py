"""Vector loops have no conditions where these hold for all iterations: C++ compilers need that."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from hidet.ir.expr import And, Expr, Less, LessEqual, Load, Minimum, Var
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Assign, Body, Declare, For, If, Stmt, Store
from hidet.ir.walk import contains, substitute, variables
from hidet.passes.base import kernel_pass
from hidet.passes.loops.fresh import copied
from hidet.passes.loops.thresholds import conditions, threshold
from hidet.passes.loops.vector_loops import with_vector_loops


@kernel_pass()
def shorten_loops(kernel: Kernel) -> Kernel:
    """Take conditions on the iteration of a vector loop out of it where they hold for all
    iterations.

    before   for j in vectorize(16): if (left + j) // 7 < 7 and top < m:  y[left + j] = f(j)
    after    if top < m:
               if 49 - left >= 16:  for j in vectorize(16):  y[left + j] = f(j)
               else:  for j in vectorize(16):  v = f(j);  if j < 49 - left:  y[left + j] = v

    On a CPU only. A shorter loop would end in iterations that are no vector, with a branch for each
    choice in f; of a condition on a store alone compilers make a mask.
    """
    return with_vector_loops(kernel, shortened)


def shortened(loop: For) -> Stmt:
    """A loop whose body is an `if`, with names for values ahead, in the form above."""
    *ahead, last = loop.body
    own = {each.var: each.init for each in ahead if isinstance(each, Declare)}
    moved = {each.var for each in ahead if isinstance(each, Assign)}
    plain = all(isinstance(each, Declare | Assign) for each in ahead) and moved <= own.keys()
    if not (plain and isinstance(last, If) and not last.otherwise):
        return loop
    values: dict[Var, Expr] = {}
    for var, init in own.items():
        if init is not None and var not in moved:
            values[var] = substitute(init, values)
    ends, outside, inside = [], [], []
    for condition in conditions(last.condition):
        meant = substitute(condition, values)
        if contains(meant, Load) or own.keys() & set(variables(meant)):
            inside.append(condition)
        elif loop.var not in variables(meant):
            outside.append(meant)
        elif (end := bound(meant, loop.var)) is not None:
            ends.append(end)
        else:
            inside.append(condition)
    if not (ends or outside):
        return loop
    made: Stmt = replace(loop, body=(*ahead, *under(inside, last.then, last)))
    if ends:
        end = reduce(Minimum, ends)
        masked = replace(
            loop, body=(*ahead, *under([*inside, Less(loop.var, end)], last.then, last))
        )
        made = If(LessEqual(loop.extent, end), (made,), (copied((masked,), {})[0],), last.place)
    return If(reduce(And, outside), (made,), (), last.place) if outside else made


def under(asked: list[Expr], then: Body, old: If) -> Body:
    """What is done under conditions; arithmetic on values that are there is done anyway."""
    if not asked:
        return then
    ahead: list[Stmt] = []
    kept: list[Stmt] = []
    for each in then:
        # What is read may not be there, or have another value in another iteration.
        if isinstance(each, Store) and not contains(each.value, Load) and not kept:
            ahead.append(Declare(value := Var("value", each.value.type), each.value))
            each = replace(each, value=value)
        kept.append(each)
    return (*ahead, If(reduce(And, asked), tuple(kept), (), old.place))


def bound(condition: Expr, iteration: Var) -> Expr | None:
    """What the iterations that meet a condition are below; None if that is not what it says."""
    found = threshold(condition, iteration)
    return None if found is None or found.begins else found.limit
