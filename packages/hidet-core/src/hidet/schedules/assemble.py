"""Script kernels put together to a module in which fusion can see every tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hidet.ir.expr import Expr, Var
from hidet.ir.kernel import Call, Kernel, Module, PdlTrigger
from hidet.ir.walk import substitute, substitute_body, variables
from hidet.lang import ScriptFunction
from hidet.types import TensorType


def assemble(
    name: str,
    functions: Sequence[ScriptFunction],
    operands: Sequence[str],
    results: Sequence[str],
    workspaces: Sequence[str] = (),
) -> Module:
    """A module that launches kernels in order; tensors of one name are one tensor.

    `operands` and `results` become its parameters, `workspaces` its own. A tensor that no kernel
    touches is dropped, unless it is an operand or a result.
    """
    tensors: dict[str, Var] = {}
    kernels: list[Kernel] = []
    for function in functions:
        kernel = function.kernel
        same: dict[Var, Expr] = {p: tensors.setdefault(p.name, p) for p in kernel.params}
        body = substitute_body(kernel.body, same)
        maps = tuple(substitute(each, same) for each in kernel.maps)
        touched = {*variables(body), *(each.tensor for each in maps)}
        params = tuple(tensors[p.name] for p in kernel.params if tensors[p.name] in touched)
        kernels.append(replace(kernel, body=body, params=params, maps=maps))
    used = {param for kernel in kernels for param in kernel.params}
    return Module(
        name,
        tuple(tensors[each] for each in (*operands, *results)),
        tuple(kernels),
        tuple(Call(kernel.name, kernel.params) for kernel in kernels),
        tuple(tensors[each] for each in workspaces if tensors[each] in used),
    )


def operand_type(of: TensorType | None, like: TensorType) -> TensorType:
    """The type of an operand that may be missing; the kernel does not touch it if it is."""
    return like.with_(shape=(1,)) if of is None else of


def marked(
    module: Module, early: Sequence[str] = (), ahead: Sequence[str] = (), once: Sequence[str] = ()
) -> Module:
    """The same, whose last kernel reads operands in other ways: see `early`, `ahead` and `once` of
    `Kernel`."""
    *before, kernel = module.kernels
    found = [
        tuple(each for each in kernel.params if each.name in names)
        for names in (early, ahead, once)
    ]
    changed = replace(kernel, early=found[0], ahead=found[1], once=found[2])
    return replace(module, kernels=(*before, changed))


def with_pdl_trigger(module: Module, when: PdlTrigger) -> Module:
    """The same, whose last kernel lets the next one begin at another time."""
    *before, kernel = module.kernels
    launch = replace(kernel.launch, pdl_trigger=when)
    return replace(module, kernels=(*before, replace(kernel, launch=launch)))
