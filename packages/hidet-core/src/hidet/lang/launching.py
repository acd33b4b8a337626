"""Host functions: script functions of kind "public" that launch kernels, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hidet.errors import BadScript, Place, at
from hidet.ir.expr import Expr, Var
from hidet.ir.kernel import Call, Kernel, Module
from hidet.ir.stmt import Declare
from hidet.lang.attributes import HOST
from hidet.lang.recorder import Recorder
from hidet.lang.values import expression, is_tensor, spoken


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
        if len(recorder.blocks) > 1:
            raise BadScript(
                "a kernel is launched inside of a block, which may run never or often",
                help="launch it outside, or loop over it by static(...)",
            )
        names = [param.name for param in kernel.params]
        given = dict(zip(names, args, strict=False)) | dict(keywords)
        if len(args) + len(keywords) != len(names) or set(given) != set(names):
            raise BadScript(
                f"`{kernel.name}` takes ({', '.join(names)}), "
                f"{len(args) + len(keywords)} arguments were given"
            )
        values = tuple(argument(recorder, param, given[param.name]) for param in kernel.params)
        recorder.launches.append((kernel, Call(kernel.name, values)))


def argument(recorder: Recorder, param: Var, value: Any) -> Expr:
    """An argument of a launch: a tensor as it is, a number in terms of what the caller passes."""
    if is_tensor(param):
        if not is_tensor(value) or value.dtype is not param.dtype:
            raise BadScript(f"`{param.name}` is {param.type}, the argument is {spoken(value)}")
        found: Expr = value
    else:
        found = expression(recorder.expanded(value), param.dtype)
    return found


def host_module(recorder: Recorder, name: str, params: tuple[Var, ...]) -> Module:
    """What the host function launches, on what, in which order."""
    for stmt in recorder.blocks[0]:
        if not isinstance(stmt, Declare):
            raise BadScript(
                "a function that launches kernels does nothing else at run time",
                place=getattr(stmt, "place", None),
                help="move it into a kernel",
            )
    kernels: dict[str, Kernel] = {}
    for kernel, _ in recorder.launches:
        if kernels.setdefault(kernel.name, kernel) is not kernel:
            raise BadScript(f"two kernels that are launched are called `{kernel.name}`")
    calls = tuple(call for _, call in recorder.launches)
    return Module(name, params, tuple(kernels.values()), calls, tuple(recorder.workspaces))
