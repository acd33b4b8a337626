"""Expressions of a script: a syntax tree becomes a Python value, or an expression of the IR."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import BuiltinFunctionType
from typing import Any

from hidet.errors import BadScript, HidetError, Place, at
from hidet.ir.expr import (
    And,
    Expr,
    Not,
    Or,
    is_vector,
    select,
)
from hidet.ir.functions import FUNCTIONS, call
from hidet.lang.attributes import Attributes
from hidet.lang.capture import Captured, Source
from hidet.lang.cuda.control import breakpoint as stop
from hidet.lang.functions import REPLACED, cast
from hidet.lang.loops import known
from hidet.lang.memory import address, get, is_array, lane, load, put
from hidet.lang.operators import as_tuple, binary, compare, construct, positions
from hidet.lang.record import Method
from hidet.lang.recorder import Recorder
from hidet.lang.scope import Scope
from hidet.lang.values import (
    alike,
    constant_truth,
    expression,
    index,
    is_tensor,
    plain,
    spoken,
    truth,
)
from hidet.mapping import TaskMapping
from hidet.types import DType, TensorType

TENSOR_ATTRIBUTES = ("dtype", "shape", "ndim", "type")


class Expressions:
    """Evaluates the expressions of one function; each kind of tree has its method."""

    def __init__(
        self, source: Source, scope: Scope, recorder: Recorder, called_from: Place | None = None
    ) -> None:
        self.source = source
        self.scope = scope
        self.recorder = recorder
        self.called_from = called_from

    def place(self, node: ast.AST) -> Place:
        """Where `node` is in the user's file."""
        return self.source.place(node, self.called_from)

    def evaluate(self, node: ast.expr) -> Any:
        """The value of an expression; its errors say where it is."""
        method = getattr(self, "value_" + type(node).__name__, None)
        try:
            if method is None:
                raise BadScript(f"a script has no {construct(node)}")
            return plain(method(node))
        except HidetError as error:
            if error.place is None:
                error.place = self.place(node)
            raise
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            raise BadScript(text, place=self.place(node)) from error

    def in_order(self, nodes: Iterable[ast.expr]) -> list[Any]:
        """The values of several expressions, as if each were read before the next one's effects."""
        values: list[Any] = []
        for node in nodes:
            position = len(self.recorder.blocks[-1])
            found = self.evaluate(node)
            values = [self.recorder.pin(value, position) for value in values]
            values.append(found)
        return values

    def maybe(self, node: ast.expr, where: str) -> Any:
        """The value of an expression that may not be reached: it cannot have effects."""
        with self.recorder.block() as statements:
            found = self.evaluate(node)
        if statements:
            raise BadScript(
                f"{where} does more than compute a value, and would do so always",
                place=self.place(node),
                help="write an `if` statement",
            )
        return found

    # ---- leaves and containers -------------------------------------------------------------------

    def value_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def value_Name(self, node: ast.Name) -> Any:
        return self.scope.value(node.id)

    def value_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.items(node.elts))

    def value_List(self, node: ast.List) -> Any:
        return self.items(node.elts)

    def value_Set(self, node: ast.Set) -> Any:
        return set(self.items(node.elts))

    def value_Dict(self, node: ast.Dict) -> Any:
        keys = [key for key in node.keys if key is not None]
        if len(keys) != len(node.keys):
            raise BadScript("a script has no `**` in a dictionary")
        values = self.in_order([*keys, *node.values])
        return dict(zip(values[: len(keys)], values[len(keys) :], strict=True))

    def value_Slice(self, node: ast.Slice) -> Any:
        parts = [node.lower, node.upper, node.step]
        return slice(*(None if part is None else self.evaluate(part) for part in parts))

    def value_JoinedStr(self, node: ast.JoinedStr) -> Any:
        return "".join(str(self.evaluate(part)) for part in node.values)

    def value_FormattedValue(self, node: ast.FormattedValue) -> Any:
        found = self.evaluate(node.value)
        if isinstance(found, Expr):
            raise BadScript(
                f"{spoken(found)} has no text before the kernel runs", help="use printf(...)"
            )
        form = "" if node.format_spec is None else self.evaluate(node.format_spec)
        convert: Any = {ord("r"): repr, ord("s"): str, ord("a"): ascii}.get(node.conversion)
        return format(found if convert is None else convert(found), form)

    def items(self, nodes: Sequence[ast.expr]) -> list[Any]:
        """Values in order; a starred one gives all of its items."""
        values = self.in_order(n.value if isinstance(n, ast.Starred) else n for n in nodes)
        found: list[Any] = []
        for node, value in zip(nodes, values, strict=True):
            found += known(value) if isinstance(node, ast.Starred) else [value]
        return found

    # ---- operators -------------------------------------------------------------------------------

    def value_BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.in_order([node.left, node.right])
        return binary(node.op, left, right)

    def value_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Invert) and isinstance(node.operand, ast.Subscript):
            base, position = self.in_order([node.operand.value, node.operand.slice])
            if is_array(base):
                return address(base, *as_tuple(position))
        found = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not):
            return Not(truth(found)) if isinstance(found, Expr) else not found
        if isinstance(node.op, ast.Invert):
            return address(found) if is_tensor(found) else ~found
        if isinstance(found, Expr):
            found = index(0) + found if found.dtype.is_bool else found
        return -found if isinstance(node.op, ast.USub) else +found

    def value_BoolOp(self, node: ast.BoolOp) -> Any:
        kind, stops = (And, False) if isinstance(node.op, ast.And) else (Or, True)
        word = "and" if kind is And else "or"
        found: Any = self.evaluate(node.values[0])
        for right in node.values[1:]:
            decided = constant_truth(found)
            if decided is stops:
                return found
            if decided is not None:
                found = self.evaluate(right)
                continue
            other = self.maybe(right, f"the right side of `{word}`")
            other_truth = constant_truth(other)
            if other_truth is stops:
                return stops
            what = f"an operand of `{word}`"
            with at(self.place(node.values[0])):
                found = truth(found, what)
            if other_truth is None:
                with at(self.place(right)):
                    found = kind(found, truth(other, what))
        return found

    def value_Compare(self, node: ast.Compare) -> Any:
        left, right = self.in_order([node.left, node.comparators[0]])
        found = compare(node.ops[0], left, right)
        for op, comparator in zip(node.ops[1:], node.comparators[1:], strict=True):
            if constant_truth(found) is False:
                return False
            left, right = right, self.maybe(comparator, "a chained comparison")
            link = compare(op, left, right)
            if constant_truth(found) or constant_truth(link) is False:
                found = link
            elif constant_truth(link) is None:
                found = And(truth(found), truth(link))
        return found

    def value_IfExp(self, node: ast.IfExp) -> Any:
        condition = self.evaluate(node.test)
        decided = constant_truth(condition)
        if decided is not None:
            return self.evaluate(node.body if decided else node.orelse)
        then = self.maybe(node.body, "the first choice")
        otherwise = self.maybe(node.orelse, "the second choice")
        then, otherwise = alike(then, otherwise)
        return select(truth(condition), expression(then), expression(otherwise))

    # ---- access ----------------------------------------------------------------------------------

    def value_Subscript(self, node: ast.Subscript) -> Any:
        base, position = self.in_order([node.value, node.slice])
        return self.element(base, position)

    def element(self, base: Any, position: Any) -> Any:
        """What `base[position]` reads."""
        if is_array(base):
            return load(base, *positions(position))
        if isinstance(base, Expr) and is_vector(base):
            return lane(base, position)
        if isinstance(base, Expr):
            raise BadScript(f"{spoken(base)} has no elements")
        if isinstance(position, Expr) and not isinstance(base, DType | TaskMapping):
            raise BadScript(
                f"a {type(base).__name__} is indexed by a value known beforehand, not by "
                f"{spoken(position)}",
                help="loop over it by `for ... in static(...)`, or keep its values in a tensor",
            )
        return base[position]

    def value_Attribute(self, node: ast.Attribute) -> Any:
        return self.attribute(self.evaluate(node.value), node.attr)

    def attribute(self, base: Any, name: str) -> Any:
        """What `base.name` is."""
        if isinstance(base, Attributes) and name != "cuda":
            raise BadScript("attributes of the kernel are assigned, not read")
        if not isinstance(base, Expr):
            return getattr(base, name)
        if name == "cast":
            return partial(cast, base)
        if is_tensor(base) and name in ("get", "put"):
            return partial(get if name == "get" else put, base)
        if name in ("dtype", "type"):
            return getattr(base, name)
        if isinstance(base.type, TensorType) and name in TENSOR_ATTRIBUTES:
            return getattr(base.type, name)
        raise BadScript(f"{spoken(base)} has no `.{name}`")

    # ---- calls -----------------------------------------------------------------------------------

    def value_Call(self, node: ast.Call) -> Any:
        function = self.evaluate(node.func)
        arguments = self.items([*node.args, *(k.value for k in node.keywords)])
        given = len(arguments) - len(node.keywords)
        names = [k.arg for k in node.keywords]
        keywords: dict[str, Any] = {}
        for name, value in zip(names, arguments[given:], strict=True):
            keywords.update(value if name is None else {name: value})
        return self.call(node, function, arguments[:given], keywords)

    def call(self, node: ast.Call, function: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
        """The result of a call, made while transcribing."""
        self.recorder.place = self.place(node)
        if isinstance(function, DType):
            if len(args) != 1 or keywords:
                raise BadScript(f"{function}(...) converts one value, not {len(args)}")
            return cast(args[0], function)
        if isinstance(function, Captured):
            return self.inline(node, function, args, keywords)
        if isinstance(function, Method):
            return self.inline(node, function.part, [function.owner, *args], keywords)
        if function is breakpoint and not (args or keywords):
            return stop(**self.scope.run_time())
        if isinstance(function, type | BuiltinFunctionType):
            function = REPLACED.get(function, function)
        name = getattr(function, "__name__", "")
        of_math = name in FUNCTIONS and getattr(math, name, None) is function
        if of_math and any(isinstance(arg, Expr) for arg in args):
            return call(name, *args)
        if isinstance(function, Expr):
            raise BadScript(f"{spoken(function)} cannot be called")
        try:
            return function(*args, **keywords)
        except TypeError as error:
            if name in FUNCTIONS and any(isinstance(arg, Expr) for arg in args):
                owner = getattr(function, "__module__", None) or type(function).__module__ or ""
                raise BadScript(
                    f"{owner.partition('.')[0] or 'this'}'s {name} takes no element of a kernel",
                    help=f"use hidet.lang.{name}",
                ) from error
            raise

    def inline(
        self, node: ast.Call, function: Captured, args: list[Any], keywords: dict[str, Any]
    ) -> Any:
        """The result of another script function, whose statements are written here."""
        raise NotImplementedError

    # ---- functions and lists made while transcribing ---------------------------------------------

    def value_Lambda(self, node: ast.Lambda) -> Any:
        names = [arg.arg for arg in node.args.args]
        extra = node.args.defaults or node.args.kwonlyargs or node.args.vararg or node.args.kwarg
        if extra:
            raise BadScript("a lambda in a script has plain parameters only")

        def function(*args: Any) -> Any:
            with self.scope.block("the lambda"):
                for name, value in zip(names, args, strict=True):
                    self.scope.bind(name, value)
                return self.evaluate(node.body)

        return function

    def value_ListComp(self, node: ast.ListComp) -> Any:
        found: list[Any] = []
        self.generate(node.generators, lambda: found.append(self.evaluate(node.elt)))
        return found

    def value_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        found: list[Any] = []
        self.generate(node.generators, lambda: found.append(self.evaluate(node.elt)))
        return tuple(found)

    def value_DictComp(self, node: ast.DictComp) -> Any:
        found: dict[Any, Any] = {}

        def add() -> None:
            key, value = self.in_order([node.key, node.value])
            found[key] = value

        self.generate(node.generators, add)
        return found

    def generate(self, generators: Sequence[ast.comprehension], add: Callable[[], None]) -> None:
        """Go through the loops of a comprehension."""
        if not generators:
            add()
            return
        first, *rest = generators
        for item in list(known(self.evaluate(first.iter))):
            with self.scope.block("the comprehension"):
                self.bind_all(first.target, item)
                if all(self.kept(test) for test in first.ifs):
                    self.generate(rest, add)

    def kept(self, test: ast.expr) -> bool:
        """Whether a comprehension's condition holds; it must be known."""
        decided = constant_truth(self.evaluate(test))
        if decided is None:
            raise BadScript(
                "the condition of a comprehension is known only at run time",
                place=self.place(test),
            )
        return decided

    def bind_all(self, target: ast.expr, value: Any) -> None:
        """Let a name, or the names of a tuple, stand for values that no one assigns."""
        if isinstance(target, ast.Name):
            self.scope.bind(target.id, value)
            return
        if not isinstance(target, ast.Tuple | ast.List):
            raise BadScript(f"a script has no {construct(target)} here", place=self.place(target))
        items = list(known(value))
        if len(items) != len(target.elts):
            raise BadScript(
                f"{len(target.elts)} names for {len(items)} values", place=self.place(target)
            )
        for each, item in zip(target.elts, items, strict=True):
            self.bind_all(each, item)
