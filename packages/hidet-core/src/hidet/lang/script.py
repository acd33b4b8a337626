"""`@script` and `script_module`: Python functions made kernels, and kernels made a module."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, overload

from hidet import seams
from hidet.errors import BadScript
from hidet.ir.expr import Expr, Value, Var
from hidet.ir.kernel import Call, Kernel, Module, single
from hidet.lang.attributes import INTERNAL, Attributes
from hidet.lang.capture import Captured, Source, capture
from hidet.lang.transcribe import transcribe
from hidet.lang.values import expression, is_tensor, spoken
from hidet.types import TensorType


class ScriptFunction(Captured):
    """A function written in the language: a kernel if it sets kernel attributes.

    One that sets none is a part of kernels: it is taken into each that calls it.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        made = transcribe(source) if is_kernel(source) else None
        self._kernel = made if isinstance(made, Kernel) else None
        self._module = made if isinstance(made, Module) else None

    @property
    def name(self) -> str:
        """The kernel's name, or the function's."""
        made = self._kernel or self._module
        return self.source.name if made is None else made.name

    @property
    def kernel(self) -> Kernel:
        """The kernel; BadScript if the function is only a part of kernels."""
        if self._kernel is None:
            raise BadScript(
                f"`{self.name}` is no kernel: it does not say how many threads run it",
                place=self.source.place(self.source.tree),
                help="set attr.cuda_grid_dim and attr.cuda_block_dim in it, or "
                'attr.func_kind = "cpu_kernel"',
            )
        return self._kernel

    def ir_module(self) -> Module:
        """A module that launches this kernel on its own parameters, or what it launches."""
        return self._module or single(self.kernel)

    def __call__(self, *args: Any) -> Any:
        raise BadScript(
            f"the script function `{self.name}` is called outside of a script",
            help="build it: hidet.driver.build_ir_module(function.ir_module())",
        )

    def __repr__(self) -> str:
        made = self._kernel or self._module
        return f"<script {self.name}>" if made is None else str(made)


class ScriptModule:
    """Script functions that are built together, and the order in which they are launched."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        self.functions: list[ScriptFunction] = []
        self.calls: list[Call] = []
        self.workspaces: list[Var] = []
        self.parameters: tuple[Var, ...] | None = None

    def params(self, *given: Var, **types: TensorType | Any) -> Any:
        """Declare what the module is called with, inputs first, then results.

        As `x, y = module.params(x=f32[m], y=f32[m])`. Variables that exist may be given as they
        are. One parameter is returned as itself.
        """
        if self.parameters is not None:
            raise BadScript("the parameters of the module are declared twice")
        self.parameters = (*given, *(Var(name, of) for name, of in types.items()))
        return self.parameters if len(self.parameters) != 1 else self.parameters[0]

    def workspace(self, of: TensorType, name: str = "workspace") -> Var:
        """A global tensor that lives during the launches."""
        if not isinstance(of, TensorType):
            raise BadScript(f"a workspace is a tensor, not {spoken(of)}", help="as f32[m, n]")
        self.workspaces.append(Var(name, of))
        return self.workspaces[-1]

    def launch(self, function: ScriptFunction, *args: Value) -> None:
        """Launch a kernel of this module on parameters, workspaces and sizes, after the others."""
        kernel = function.kernel
        if function not in self.functions:
            raise BadScript(f"`{kernel.name}` is not a function of this module")
        if len(args) != len(kernel.params):
            names = ", ".join(param.name for param in kernel.params)
            raise BadScript(f"`{kernel.name}` takes ({names}); arguments given: {len(args)}")
        for param, arg in zip(kernel.params, args, strict=True):
            if is_tensor(param) and isinstance(arg, Expr) and arg.dtype is not param.dtype:
                raise BadScript(f"`{param.name}` is {param.type}, the argument is {spoken(arg)}")
        typed = (
            expression(arg, None if is_tensor(param) else param.dtype)
            for param, arg in zip(kernel.params, args, strict=True)
        )
        self.calls.append(Call(kernel.name, tuple(typed)))

    def ir_module(self) -> Module:
        """The module: what is launched, on what, in which order."""
        hosts = [f._module for f in self.functions if f._module is not None]
        if len(hosts) == 1 and not self.calls:
            return replace(hosts[0], name=self.name or hosts[0].name)
        if hosts:
            raise BadScript(
                "the module says more than once what it launches",
                help="write one host function, and no module.launch(...)",
            )
        kernels = [f.kernel for f in self.functions if f._kernel is not None]
        names = [kernel.name for kernel in kernels]
        for name in names:
            if names.count(name) > 1:
                raise BadScript(f"two kernels of the module are called `{name}`")
        if not kernels:
            raise BadScript("the module has no kernel", help="define one inside of its `with`")
        if self.calls:
            return self.launched(kernels)
        if len(kernels) > 1:
            raise BadScript(
                f"the module has {len(kernels)} kernels and does not say how they are launched",
                help="call module.launch(kernel, *arguments) for each, in order",
            )
        alone = single(kernels[0])
        return replace(alone, name=self.name or alone.name, workspaces=tuple(self.workspaces))

    def launched(self, kernels: list[Kernel]) -> Module:
        """The module of recorded launches."""
        params = self.parameters
        if params is None and len(kernels) == 1:
            params = kernels[0].params
        if params is None:
            raise BadScript(
                "the module does not say what it is called with",
                help="declare it: x, y = module.params(x=f32[m], y=f32[m])",
            )
        first = kernels[0]
        return Module(
            self.name or first.name, params, tuple(kernels), tuple(self.calls),
            tuple(self.workspaces), first.places if params is first.params else (), first.place,
        )  # fmt: skip

    def build(self) -> Any:
        """The module compiled for this machine, to be called on tensors."""
        return seams.call("build_module", self.ir_module())


_open: ContextVar[ScriptModule | None] = ContextVar("hidet_script_module", default=None)


@overload
def script(function: Callable[..., Any], /) -> ScriptFunction: ...
@overload
def script(**types: Any) -> Callable[[Callable[..., Any]], ScriptFunction]: ...
def script(function: Callable[..., Any] | None = None, /, **types: Any) -> Any:
    """Make a Python function a script function; inside of `script_module()` it joins the module.

    The types of parameters are their annotations, or given by name: as `@script(x=f32[m, n])` of
    `def kernel(x: Global) -> None`, where annotations say kinds, which type checkers follow. A name
    that is no parameter, or a type that is not of its kind, is a BadScript error.
    """
    if function is not None:
        return joined(ScriptFunction(capture(function)))

    def typed(function: Callable[..., Any]) -> ScriptFunction:
        return joined(ScriptFunction(replace(capture(function), types=types)))

    return typed


def joined(made: ScriptFunction) -> ScriptFunction:
    """A script function as one of the module that is open, if there is one."""
    module = _open.get()
    if module is not None:
        module.functions.append(made)
    return made


@contextmanager
def script_module(name: str | None = None) -> Iterator[ScriptModule]:
    """Collect the script functions defined in the block in a module."""
    module = ScriptModule(name)
    token = _open.set(module)
    try:
        yield module
    finally:
        _open.reset(token)


def is_kernel(source: Source) -> bool:
    """Whether the function sets kernel attributes, besides saying that it is a part of kernels."""
    stores = [each for each in ast.walk(source.tree) if is_attribute(each, source)]
    internal = [
        each.value.value
        for each in ast.walk(source.tree)
        if isinstance(each, ast.Assign)
        and each.targets[0] in stores
        and isinstance(each.value, ast.Constant)
        and each.value.value in INTERNAL
    ]
    return bool(stores) and not internal


def is_attribute(node: ast.AST, source: Source) -> bool:
    """Whether it is an attribute of the kernel that is assigned."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store):
        return False
    root: ast.expr = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and isinstance(source.names.get(root.id), Attributes):
        return True
    dotted = ast.unparse(node).split(".")
    return "attr" in dotted or "attrs" in dotted
