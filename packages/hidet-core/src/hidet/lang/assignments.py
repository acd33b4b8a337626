"""Assignments: when a name stands for a Python value, when for a variable of the kernel."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hidet.errors import BadScript, DtypeMismatch, HidetError, Place
from hidet.ir.expr import Expr, Lane, Pack, Var, is_vector
from hidet.ir.walk import find
from hidet.lang.attributes import INTERNAL, Attributes, check_attribute
from hidet.lang.capture import Source
from hidet.lang.expressions import Expressions
from hidet.lang.memory import is_array, lane, store
from hidet.lang.names import assigned
from hidet.lang.operators import binary, construct, positions
from hidet.lang.record import is_record, number_kind, with_variables
from hidet.lang.recorder import Recorder, reads
from hidet.lang.scope import Scope
from hidet.lang.values import (
    converted,
    expression,
    is_number,
    is_scalar,
    spoken,
)
from hidet.types import (
    DType,
    PointerType,
    TensorMapType,
    TensorType,
    VectorType,
    boolean,
    f32,
    i32,
    promote,
)

PYTHON_TYPES: dict[Any, DType] = {int: i32, float: f32, bool: boolean}


class Assignments(Expressions):
    """Transcribes the assignments of one function."""

    def __init__(
        self, source: Source, recorder: Recorder, called_from: Place | None = None
    ) -> None:
        local = frozenset([*assigned(source.tree.body), *(a.arg for a in source.tree.args.args)])
        super().__init__(source, Scope(source.names, local), recorder, called_from)
        self.typed: set[Var] = set()
        """Variables whose type the user wrote."""
        self.loops: list[tuple[str, bool, bool]] = []
        """The loops around: what each is, and whether `break` and `continue` are possible."""
        self.is_kernel = called_from is None
        self.alone: ast.expr | None = None
        """The last expression that was a statement: nothing uses its value."""

    @contextmanager
    def placed(self, node: ast.AST) -> Iterator[None]:
        """Statements written in this block, and errors raised, have the place of `node`."""
        self.recorder.place = self.place(node)
        with self.placed_at(node):
            yield

    @contextmanager
    def placed_at(self, node: ast.AST, kind: type[HidetError] = HidetError) -> Iterator[None]:
        """Errors of a kind that are raised in this block, and have no place yet, are at `node`."""
        try:
            yield
        except kind as error:
            if error.place is None:
                error.place = self.place(node)
            raise

    def do_Assign(self, node: ast.Assign) -> None:
        if len(node.targets) > 1:
            raise BadScript("a script assigns one thing at a time", help="write two assignments")
        [target] = node.targets
        if isinstance(target, ast.Tuple | ast.List):
            self.unpack(target, self.evaluate(node.value))
            return
        if isinstance(target, ast.Name):
            self.recorder.name = target.id
        position = len(self.recorder.blocks[-1])
        place = self.element_place(target)
        value = self.evaluate(node.value)
        self.recorder.name = ""
        self.recorder.place = self.place(node)
        with self.placed(node):
            self.assign(target, self.recorder.pin(place, position), value, node.value)

    def element_place(self, target: ast.expr) -> tuple[Any, Any] | None:
        """The array and the index of a subscript that is assigned."""
        if not isinstance(target, ast.Subscript):
            return None
        base, index = self.in_order([target.value, target.slice])
        return base, index

    def assign(
        self, target: ast.expr, element: tuple[Any, Any] | None, value: Any, source: ast.expr
    ) -> None:
        """Give a name, an element or an attribute a value, written at `source`."""
        with self.placed_at(target, BadScript), self.placed_at(source, DtypeMismatch):
            if isinstance(target, ast.Name):
                self.assign_name(target.id, value)
            elif element is not None:
                self.assign_element(*element, value)
            elif isinstance(target, ast.Attribute):
                self.assign_attribute(target, value, source)
            else:
                raise BadScript(f"a script does not assign to {construct(target)}")

    def assign_name(self, name: str, value: Any) -> None:
        """Let a name stand for a value, or give its variable the value."""
        self.check_free(name)
        old = self.scope.value(name) if name in self.scope else None
        if isinstance(old, Var) and not is_array_type(old) and self.keeps(name, old, value):
            self.assign_variable(name, old, value)
            return
        if name in self.scope and not self.scope.here(name):
            raise BadScript(
                f"`{name}` is {spoken(old)}, known beforehand, and cannot change at run time",
                help="use another name, or keep the value in a variable or tensor",
            )
        self.scope.bind(name, self.settled(name, value))

    def check_free(self, name: str) -> None:
        """BadScript if the name cannot be assigned."""
        if name in self.scope.fixed:
            raise BadScript(
                f"`{name}` is {self.scope.fixed[name]} and cannot be assigned",
                help="assign to another name",
            )

    def keeps(self, name: str, old: Var, value: Any) -> bool:
        """Whether an assignment changes the variable, rather than beginning a new one.

        In the block that declared it, a name may take a value of another type. One that is not made
        of the old value is a new variable's, so that what is known of it is no less than of the
        first: the iterations of a `static` loop are one block.
        """
        if old in self.typed or not self.scope.here(name):
            return True
        if isinstance(value, Expr):
            return value.type == old.type and old in value.mentioned()
        return is_number(value) and fits(old, value)

    def assign_variable(self, name: str, var: Var, value: Any) -> None:
        """Write the assignment of a variable; precision is lost only where its type was written."""
        if var not in self.typed and (is_number(value) or is_scalar(value)):
            source = expression(value, var.dtype).dtype
            if promote(source, var.dtype) is not var.dtype:
                raise DtypeMismatch(
                    f"`{name}` is {var.type}, the value {spoken(value)} does not fit it",
                    help=f"write its type at its first assignment: `{name}: {source} = ...`",
                )
        found = converted(value, var.type, f"`{name}`")
        self.recorder.assign(var, found)

    def settled(self, name: str, value: Any) -> Any:
        """A value as it is now: expressions become variables, in lists and tuples too."""
        if isinstance(value, tuple | list):
            items = [self.settled(name, item) for item in value]
            return items if isinstance(value, list) else tuple(items)
        if isinstance(value, dict):
            return {key: self.settled(name, item) for key, item in value.items()}
        if is_record(value):
            return self.settled_record(name, value)
        if not isinstance(value, Expr) or is_array_type(value):
            return value
        if isinstance(value, Var) and value in self.recorder.results:
            self.recorder.results.remove(value)
            return value
        return self.recorder.declare(value.type, value, name)

    def settled_record(self, name: str, value: Any) -> Any:
        """A record whose numbers are variables of its own."""
        if id(value) not in self.recorder.records:
            value = with_variables(value, name, self.settled_field)
            self.recorder.records[id(value)] = value
        return value

    def settled_field(self, name: str, value: Any) -> Any:
        """A number of a record as a variable; a record in it."""
        if is_record(value):
            return self.settled_record(name, value)
        init = expression(value)
        var = self.recorder.declare(init.type, init, name)
        self.recorder.fields.add(var)
        return var

    def assign_field(self, of: Any, name: str, value: Any) -> None:
        """Give a number of a record another value."""
        what = f"`{name}` of a {type(of).__name__}"
        var = getattr(of, name, None)
        if number_kind(of, name) is None:
            raise BadScript(
                f"{what} cannot be assigned", help="fields that are Int, Float or Bool can"
            )
        if var not in self.recorder.fields:
            raise BadScript(f"{what} is no variable yet", help="first give the record a name")
        self.recorder.assign(var, converted(value, var.type, what))

    def assign_element(self, base: Any, index: Any, value: Any) -> None:
        """Store an element of a tensor, or a lane of a vector."""
        if is_array(base):
            store(base, *positions(index), value)
        elif isinstance(base, Var) and is_vector(base):
            lane(base, index)
            of = base.type
            assert isinstance(of, VectorType)
            lanes: list[Expr] = [Lane(base, i) for i in range(of.lanes)]
            lanes[index] = converted(value, of.element, "the lane")
            self.recorder.assign(base, Pack(tuple(lanes)))
        else:
            raise BadScript(
                f"the elements of {spoken(base)} cannot be assigned in a script",
                help="keep values that change in a register_tensor(...)",
            )

    def assign_attribute(self, target: ast.Attribute, value: Any, source: ast.expr) -> None:
        """Set an attribute of the kernel, or a number of a record."""
        base = self.evaluate(target.value)
        if is_record(base):
            self.assign_field(base, target.attr, value)
            return
        if not isinstance(base, Attributes):
            raise BadScript(
                f"a script does not assign attributes of {spoken(base)}",
                help="values from outside are constants; keep what changes in a variable or tensor",
            )
        if not self.is_kernel:
            if target.attr == "func_kind" and value in INTERNAL:
                return
            raise BadScript("a function that is called by a script has no kernel attributes")
        if len(self.recorder.blocks) > 1:
            raise BadScript("attributes of the kernel are not set inside of a block")
        name = base.named(target.attr)
        with self.placed_at(source):
            self.recorder.attributes[name] = check_attribute(
                name, self.recorder.expanded(value), frozenset(self.recorder.local)
            )

    def unpack(self, target: ast.Tuple | ast.List, value: Any) -> None:
        """Assign several things at once."""
        if isinstance(value, Expr):
            raise BadScript(f"{spoken(value)} cannot be unpacked")
        items = list(value)
        if len(items) != len(target.elts):
            raise BadScript(f"{len(target.elts)} names for {len(items)} values")
        if any(not isinstance(each, ast.Name) or each.id in self.scope for each in target.elts):
            items = [self.settled("earlier", item) for item in items]
        for each, item in zip(target.elts, items, strict=True):
            if isinstance(each, ast.Tuple | ast.List):
                self.unpack(each, item)
            else:
                self.assign(each, self.element_place(each), item, each)

    def do_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Attribute):
            self.augment_field(node, node.target)
            return
        element = self.element_place(node.target)
        if isinstance(node.target, ast.Name):
            with self.placed_at(node.target):
                old = self.scope.value(node.target.id)
            if not isinstance(old, Expr | int | float):
                raise BadScript(f"`{node.target.id}` is {spoken(old)}", help="use `=`")
        else:
            assert element is not None
            old = self.element(*element)
        position = len(self.recorder.blocks[-1])
        value = self.evaluate(node.value)
        old, element = self.recorder.pin((old, element), position)
        if isinstance(node.target, ast.Name) and is_number(old) and isinstance(value, Expr):
            old = self.materialize(node.target.id)
        with self.placed(node):
            result = binary(node.op, old, value)
            self.assign(node.target, element, result, node.value)

    def augment_field(self, node: ast.AugAssign, target: ast.Attribute) -> None:
        """Change a number of a record."""
        base = self.evaluate(target.value)
        if not is_record(base):
            raise BadScript("attributes of the kernel are assigned once, by `=`")
        position = len(self.recorder.blocks[-1])
        old = self.attribute(base, target.attr)
        value = self.evaluate(node.value)
        old = self.recorder.pin(old, position)
        with self.placed(node):
            self.assign_field(base, target.attr, binary(node.op, old, value))

    def do_AnnAssign(self, node: ast.AnnAssign) -> None:
        if not isinstance(node.target, ast.Name):
            raise BadScript("only names have a type written", place=self.place(node.target))
        name = node.target.id
        self.check_free(name)
        if name in self.scope and not self.scope.here(name):
            raise BadScript(f"`{name}` already has a type", help="use another name")
        of = self.evaluate(node.annotation)
        of = PYTHON_TYPES.get(of, of) if isinstance(of, type) else of
        if not isinstance(of, DType | VectorType | PointerType):
            raise BadScript(
                f"a variable is a number, a vector or a pointer, not {spoken(of)}",
                place=self.place(node.annotation),
                help="make tensors by shared_tensor(...) or register_tensor(...)",
            )
        init = None
        if node.value is not None:
            value = self.evaluate(node.value)
            with self.placed_at(node.value):
                init = converted(value, of, f"`{name}`")
        self.recorder.place = self.place(node)
        var = self.recorder.declare(of, init, name)
        self.typed.add(var)
        self.scope.bind(name, var)

    def materialize(self, name: str) -> Var:
        """Make a variable of a name that so far stood for a number."""
        value = self.scope.value(name)
        init = expression(value)
        var = self.recorder.declare(init.type, init, name)
        self.scope.rebind(name, var)
        return var

    def make_variables(self, nodes: Sequence[ast.stmt]) -> None:
        """Make variables of the numbers that statements, run at run time, assign."""
        for name in assigned(nodes):
            free = name in self.scope and name not in self.scope.fixed
            if free and is_number(self.scope.value(name)):
                self.materialize(name)

    def steady(self, value: Any, body: Sequence[ast.stmt]) -> Any:
        """A value that stays what it is now while `body` runs."""
        if not isinstance(value, Expr):
            return value
        changed = [self.scope.value(name) for name in assigned(body) if name in self.scope]
        changed += self.recorder.fields  # which a part may assign that the body calls
        moved = any(var is each for var in find(value, Var) for each in changed)
        return self.recorder.declare(value.type, value, "bound") if moved or reads(value) else value


def is_array_type(value: Expr) -> bool:
    """Whether it is a tensor or a tensor map: a thing, not a value."""
    return isinstance(value.type, TensorType | TensorMapType)


def fits(var: Var, value: Any) -> bool:
    """Whether a number can be a value of a variable."""
    if isinstance(value, bool):
        return var.dtype.is_bool
    if isinstance(value, float):
        return var.dtype.is_float
    return not var.dtype.is_bool and isinstance(var.type, DType | VectorType)
