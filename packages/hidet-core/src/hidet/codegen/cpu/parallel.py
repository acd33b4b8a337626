"""Loops that the team of threads runs: their bodies as functions of a range of iterations.

    parallel(iterations(m, n), [](Iterations begin, Iterations end, float *y) {
      int j = begin % n;
      int i = begin / n;
      for (Iterations iteration = begin; iteration < end; ++iteration, ...) { ... }
    }, y);

What the body reads from around it are parameters, as the kernel's own are: a compiler knows as much
of them, and a pointer that is promised not to change stays so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hidet.codegen.common.statements import StatementWriter
from hidet.ir.expr import Const, Var
from hidet.ir.stmt import For
from hidet.ir.walk import find, introduced
from hidet.types import TensorType


def write_parallel(writer: StatementWriter, nest: Sequence[For], heads: Mapping[Var, str]) -> None:
    """Write loops that directly hold one another as one over the iterations of all.

    `heads` are the kernel's parameters as they are declared.
    """
    names = writer.expressions.names
    writer.expressions.used.add("parallel")
    around = {var: captured(writer, var, heads) for var in free(nest, heads)}
    extents, fresh = extents_of(writer, nest)
    given = [names[var] for var in around] + list(fresh)
    begin, end = names.fresh("begin"), names.fresh("end")
    head = ", ".join(
        [f"Iterations {begin}", f"Iterations {end}", *around.values(), *fresh.values()]
    )
    writer.line(f"parallel(iterations({', '.join(extents)}), []({head}) NOINLINE {{")
    writer.depth += 1
    write_iterations(writer, nest, extents, begin, end)
    writer.depth -= 1
    writer.line(f"}}{''.join(f', {name}' for name in given)});")


def write_iterations(
    writer: StatementWriter, nest: Sequence[For], extents: Sequence[str], begin: str, end: str
) -> None:
    """The loop over the iterations from `begin` to `end`."""
    names, signs = writer.expressions.names, writer.expressions.signs
    for each in nest:
        signs.learn(each.var)
    if len(nest) == 1:
        var, last = writer.declared(nest[0].var), names.fresh("last")
        index = names[nest[0].var]
        writer.line(f"for ({var} = {begin}, {last} = {end}; {index} < {last}; ++{index}) {{")
    else:
        iteration, rest, steps = names.fresh("iteration"), begin, []
        for each, extent in reversed([*zip(nest, extents, strict=True)]):
            place = rest if each is nest[0] else f"{rest} % {extent}"
            writer.line(f"{writer.declared(each.var)} = {place};")
            steps.append(f"advance({names[each.var]}, {extent})")
            rest = f"{rest} / {extent}"
        step = f"++{iteration}, {' && '.join(steps)}"
        writer.line(f"for (Iterations {iteration} = {begin}; {iteration} < {end}; {step}) {{")
    writer.body(nest[-1].body)
    writer.line("}")


def extents_of(writer: StatementWriter, nest: Sequence[For]) -> tuple[list[str], dict[str, str]]:
    """The loops' extents as numbers or names; of names that are made for them the declarations."""
    extents, fresh = [], {}
    for each in nest:
        (extent,) = writer.ready([each.extent])
        text = writer.spell(extent)
        if not isinstance(extent, Const):
            name = writer.expressions.names.fresh("extent")
            fresh[name] = f"const {writer.expressions.type(extent.type)} {name}"
            writer.line(f"{fresh[name]} = {text};")
            text = name
        extents.append(text)
    return extents, fresh


def free(nest: Sequence[For], heads: Mapping[Var, str]) -> list[Var]:
    """The variables from around the loops that their bodies mention, parameters first."""
    own = {each.var for each in nest} | set(introduced(nest[-1].body))
    found = dict.fromkeys(var for var in find(nest[-1].body, Var) if var not in own)
    return [*(var for var in heads if var in found), *(v for v in found if v not in heads)]


def captured(writer: StatementWriter, var: Var, heads: Mapping[Var, str]) -> str:
    """A variable from around the loop as a parameter; one that changes is the same to all."""
    if var in writer.assigned:
        return f"{writer.expressions.type(var.of)} &{writer.expressions.names[var]}"
    if var in heads:
        return heads[var]
    if isinstance(var.of, TensorType):
        return f"{writer.expressions.type(var.of.dtype)} *{writer.expressions.names[var]}"
    return writer.declared(var)
