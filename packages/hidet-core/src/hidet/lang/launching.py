"""Host functions: script functions of kind "public" that launch kernels, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hidet.errors import BadScript, Place, ShapeMismatch, at
from hidet.ir.expr import Builtin, Expr, Get, Load, Var
from hidet.ir.host import is_host
from hidet.ir.kernel import Call, Kernel, Module
from hidet.ir.stmt import Stmt
from hidet.ir.walk import find, statements
from hidet.lang.attributes import HOST
from hidet.lang.recorder import Recorder
from hidet.lang.values import converted, differ, is_tensor, spoken


def launched(
    recorder: Recorder,
    kernel: Kernel,
    args: Sequence[Any],
    keywords: Mapping[str, Any],
    place: Place,
) -> None:
    """Record the launch of a kernel that a host function calls."""
    with at(place):
        if recorder.attributes.get("func_kind") != HOST:
            raise BadScript(
                f"`{kernel.name}` is a kernel, and a kernel does not call another",
                help=f'call it in a host function, which begins with attr.func_kind = "{HOST}"',
            )
        names = [param.name for param in kernel.params]
        given = dict(zip(names, args, strict=False)) | dict(keywords)
        if len(args) + len(keywords) != len(names) or set(given) != set(names):
            raise BadScript(
                f"`{kernel.name}` takes ({', '.join(names)}); "
                f"arguments given: {len(args) + len(keywords)}"
            )
        values = tuple(argument(param, given[param.name]) for param in kernel.params)
        if recorder.launched.setdefault(kernel.name, kernel) is not kernel:
            raise BadScript(f"two kernels that are launched are called `{kernel.name}`")
        recorder.emit(Call(kernel.name, values, place))


def argument(param: Var, value: Any) -> Expr:
    """An argument of a launch: a tensor as it is, a number as the parameter's type."""
    if not is_tensor(param):
        return converted(value, param.type, f"`{param.name}`")
    if not is_tensor(value) or value.dtype is not param.dtype:
        raise BadScript(f"`{param.name}` is {param.type}, the argument is {spoken(value)}")
    if differ(param.type, value.type):
        raise ShapeMismatch(f"`{param.name}` is {param.type}, the argument is {spoken(value)}")
    return value  # type: ignore[no-any-return]


def host_module(
    recorder: Recorder,
    name: str,
    params: tuple[Var, ...],
    places: tuple[Place, ...],
    place: Place,
) -> Module:
    """What the host function at `place` launches, on what, when, and in which order."""
    body = tuple(recorder.blocks[0])
    for stmt in statements(body):
        check_host(stmt)
    kernels = tuple(recorder.launched.values())
    return Module(name, params, kernels, body, tuple(recorder.workspaces), places, place)


def check_host(stmt: Stmt) -> None:
    """BadScript if it is nothing for the host, which sees numbers only."""
    place = getattr(stmt, "place", None)
    if not is_host(stmt):
        raise BadScript(
            "a function that launches kernels neither reads nor writes tensors itself",
            place=place,
            help="do it in a kernel",
        )
    own = [each for each in stmt.children() if isinstance(each, Expr)]
    for each in find(own, Expr):
        if isinstance(each, Load | Get | Builtin):
            raise BadScript(
                f"what kernels are launched cannot depend on `{each}`: a host function knows "
                "sizes and numbers",
                place=place,
                help="decide it in a kernel, or let the caller pass the number",
            )
