"""What is written after `def`: parameters and their types."""

from __future__ import annotations

import ast
from collections import ChainMap
from typing import Any

from hidet.errors import BadScript
from hidet.ir.expr import Expr, Var
from hidet.lang.assignments import PYTHON_TYPES
from hidet.lang.kinds import kind_in, mistaken
from hidet.lang.meta import Types
from hidet.lang.statements import Statements
from hidet.lang.values import spoken
from hidet.types import DType, PointerType, TensorType, Type, VectorType


class Parameters(Statements):
    """Transcribes the parameters of one function."""

    def declared_parameters(self) -> list[ast.arg]:
        """The parameters as written; only plain ones exist."""
        args = self.source.tree.args
        extra = [a for a in (args.vararg, args.kwarg, *args.kwonlyargs, *args.posonlyargs) if a]
        for arg in extra:
            raise BadScript(
                "a script has plain parameters only: no `*`, `**` or `/`", place=self.place(arg)
            )
        for default in args.defaults:
            raise BadScript("a script's parameters have no defaults", place=self.place(default))
        return args.args

    def parameters(self) -> list[Var]:
        """The parameters of a kernel."""
        params: list[Var] = []
        declared = self.declared_parameters()
        self.check_given([arg.arg for arg in declared])
        for arg in declared:
            written = arg.annotation and self.evaluated(arg.arg, arg.annotation)
            if isinstance(written, Types):
                params += self.several(arg.arg, written)
                continue
            of = self.annotation(arg)
            if of is None:
                raise BadScript(
                    f"parameter `{arg.arg}` has no type",
                    place=self.place(arg),
                    help=f"write one, as `{arg.arg}: f32[m, n]` or `{arg.arg}: i32`",
                )
            self.check_kind(arg, of)
            params.append(Var(arg.arg, of))
            self.scope.bind(arg.arg, params[-1])
            self.scope.fixed[arg.arg] = "a parameter"
        return params

    def check_given(self, names: list[str]) -> None:
        """BadScript if a type is given to no parameter."""
        for name in self.source.types:
            if name not in names:
                raise BadScript(
                    f"a type is given for `{name}`, which is no parameter",
                    place=self.place(self.source.tree),
                    help=f"there are {', '.join(names)}",
                )

    def check_kind(self, arg: ast.arg, of: Type) -> None:
        """BadScript if a type that was given is not of the kind that the parameter's annotation
        says."""
        if arg.arg not in self.source.types or arg.annotation is None:
            return
        asked = mistaken(self.written(arg.arg, arg.annotation), Var(arg.arg, of))
        if asked:
            raise BadScript(
                f"`{arg.arg}` is {asked}, the type given is {of}", place=self.place(arg)
            )

    def several(self, name: str, types: Types) -> list[Var]:
        """Parameters under one name, which stands for the tuple of them."""
        found = [
            of if isinstance(of, Var) else Var(f"{name}_{number}", of)
            for number, of in enumerate(types.types)
        ]
        self.scope.bind(name, tuple(found))
        self.scope.fixed[name] = "parameters"
        return found

    def check_returns_nothing(self) -> None:
        """BadScript if the kernel says that it returns something."""
        written = self.source.tree.returns
        if written is not None and self.annotated("return", written, "the result") is not None:
            raise BadScript(
                "a kernel returns nothing",
                place=self.place(written),
                help="write results to tensor parameters",
            )

    def annotation(self, arg: ast.arg) -> Type | None:
        """The type a parameter is annotated with."""
        node = arg.annotation or (arg if arg.arg in self.source.types else None)
        if node is None:
            return None
        found = self.annotated(arg.arg, node, f"`{arg.arg}`")
        if found is None:
            raise BadScript(
                f"the type of `{arg.arg}` is None, not a type of the language",
                place=self.place(node),
            )
        return found

    def annotated(self, name: str, node: ast.expr | ast.arg, what: str) -> Type | None:
        """The type that an annotation says; None if it says None."""
        with self.placed(node):
            found = self.evaluated(name, node)
            if isinstance(found, type):
                found = PYTHON_TYPES.get(found, found)
            if found is None:
                return None
            if isinstance(found, TensorType):
                check_sizes(found, what)
            kind = kind_in(found)
            if kind is not None:
                raise BadScript(
                    f"{what} is {kind.spoken}, of a type that is not given",
                    help=f"give it by name, as @script({name}=f32[m, n])",
                )
            if not isinstance(found, DType | VectorType | PointerType | TensorType):
                raise BadScript(
                    f"the type of {what} is {spoken(found)}, not a type of the language",
                    help="write a type as `f32`, `~f32` or `f32[m, n]`",
                )
            return found

    def evaluated(self, name: str, node: ast.AST) -> Any:
        """The type of a parameter: what was given, or else written."""
        given = self.source.types.get(name)
        return self.written(name, node) if given is None else given

    def written(self, name: str, node: ast.AST) -> Any:
        """What an annotation is, whenever Python evaluates it."""
        found = self.source.annotations.get(name)
        while isinstance(found, str):
            found = self.postponed(node, found)
        return found

    def postponed(self, node: ast.AST, text: str) -> Any:
        """The value of an annotation that Python did not evaluate."""
        quoted = isinstance(node, ast.Constant) and isinstance(node.value, str)
        given = node if isinstance(node, ast.expr) and not quoted else None
        tree = given or ast.parse(text, mode="eval").body
        outside = self.scope.outside
        self.scope.outside = ChainMap(dict(self.source.enclosing), dict(outside))
        try:
            return self.evaluate(tree)
        finally:
            self.scope.outside = outside


def check_sizes(of: TensorType, what: str) -> None:
    """BadScript unless the sizes of a tensor type are numbers or symbols."""
    for size in of.shape:
        if not isinstance(size, int | Expr):
            raise BadScript(
                f"a size of {what} is {spoken(size)}",
                help='sizes are numbers and symbols: n = hidet.symbol_var("n")',
            )
