"""A captured function becomes a kernel: its parameters, loops, and calls of other functions."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from hidet.errors import BadScript, DtypeMismatch, Place, ShapeMismatch
from hidet.ir.expr import Address, Const, Expr, Var
from hidet.ir.kernel import Kernel, Module
from hidet.ir.stmt import For, ForTasks, If, LoopKind, Stmt
from hidet.lang.attributes import kernel_kind, launch
from hidet.lang.capture import Captured, Source
from hidet.lang.launching import host_module, launched
from hidet.lang.loops import Grid, Range, Static
from hidet.lang.memory import address
from hidet.lang.names import assigned
from hidet.lang.parameters import Parameters
from hidet.lang.record import Part
from hidet.lang.recorder import Recorder, TaskLoop, recording
from hidet.lang.statements import Statements
from hidet.lang.values import converted, differ, index, is_number, is_tensor, kind_of, spoken, truth
from hidet.mapping import Tasks
from hidet.types import PointerType, TensorType, i32

DEEPEST = 64
"""How many calls deep script functions may be taken into one another."""


def transcribe(source: Source) -> Kernel | Module:
    """The kernel that a captured function describes; a module if it launches kernels."""
    recorder = Recorder()
    function = Transcriber(source, recorder)
    with recording(recorder), function.placed(source.tree):
        params = function.parameters()
        function.check_returns_nothing()
        function.statements(source.tree.body)
        recorder.place = None
        name = recorder.attributes.get("func_name", source.name)
        places = tuple(source.place(each) for each in source.tree.args.args)
        if recorder.launched or recorder.workspaces:
            return host_module(recorder, name, tuple(params), places, source.place(source.tree))
        return Kernel(
            name=name,
            params=tuple(params),
            body=tuple(recorder.blocks[0]),
            kind=kernel_kind(recorder.attributes),
            launch=launch(recorder.attributes),
            place=source.place(source.tree),
            maps=tuple(recorder.maps),
            places=places,
        )


class Transcriber(Parameters):
    """Transcribes one function: a kernel, or one that is taken into a kernel."""

    # ---- loops -----------------------------------------------------------------------------------

    def do_For(self, node: ast.For) -> None:
        if node.orelse:
            raise BadScript("a script has no `else` of a loop", place=self.place(node.orelse[0]))
        over = self.evaluate(node.iter)
        if isinstance(over, range):
            over = Range(over.start, over.stop, over.step)
        if isinstance(over, Static):
            self.static_loop(node, over)
            return
        if not isinstance(over, Range | Grid | Tasks):
            raise BadScript(
                f"a loop cannot run over {spoken(over)}",
                place=self.place(node.iter),
                help="use range(...), grid(...), mapping.on(worker), or static(...) to write the "
                "body once for each item",
            )
        self.make_variables(node.body)
        with self.placed(node):
            if isinstance(over, Range):
                self.range_loop(node, over)
            elif isinstance(over, Grid):
                self.grid_loop(node, over)
            else:
                self.task_loop(node, over)

    def static_loop(self, node: ast.For, over: Static) -> None:
        """Write the body once for each item."""
        with self.loop("static items", False, False):
            for item in over.items:
                self.bind_items(node.target, item)
                self.statements(node.body)

    def bind_items(self, target: ast.expr, item: Any) -> None:
        """Bind the variables of a static loop, which hold no run-time variable."""
        for each in ast.walk(target):
            if isinstance(each, ast.Name):
                self.check_free(each.id)
                if each.id in self.scope and not self.scope.here(each.id):
                    raise self.taken(each)
        self.bind_all(target, item)

    def taken(self, name: ast.Name) -> BadScript:
        """The error for a loop variable whose name is in use."""
        return BadScript(
            f"`{name.id}` already has a value here",
            place=self.place(name),
            help="give the loop variable another name",
        )

    def range_loop(self, node: ast.For, over: Range) -> None:
        """One loop over numbers."""
        start, stop, step = (self.steady(v, node.body) for v in (over.start, over.stop, over.step))
        over = Range(start, stop, step, over.kind)
        extent = self.steady(over.extent, node.body)
        [name] = self.target_names(node.target, 1)
        var = self.loop_variable(name, extent)
        serial = over.kind is LoopKind.SERIAL
        body = self.loop_body(node, str(over.kind), serial, serial, over.number(var))
        self.recorder.emit(For(var, extent, body, over.kind, self.place(node)))

    def grid_loop(self, node: ast.For, over: Grid) -> None:
        """Nested loops, the last extent innermost."""
        extents = [self.steady(index(extent), node.body) for extent in over.extents]
        names = self.target_names(node.target, len(extents))
        loops = [self.loop_variable(n, e) for n, e in zip(names, extents, strict=True)]
        values = tuple(loops) if len(loops) != 1 else loops[0]
        serial = all(kind is LoopKind.SERIAL for kind in over.kinds)
        body = self.loop_body(node, "grid", serial and len(loops) == 1, serial, values)
        self.emit_nest(node, loops, extents, body, over.kinds)

    def task_loop(self, node: ast.For, over: Tasks) -> None:
        """A loop over a mapping's tasks; plain loops if register tensors are spread by it."""
        mapping, worker = over.mapping, self.steady(index(over.worker), node.body)
        names = self.target_names(node.target, mapping.rank)
        if any(mapping == each for each in self.recorder.spread):
            self.owned_loop(node, over, worker)
            return
        loops = [self.loop_variable(name, worker) for name in names]
        task = TaskLoop(mapping, worker, tuple(loops), ())
        values = tuple(loops) if len(loops) != 1 else loops[0]
        body = self.loop_body(node, "tasks", False, False, values)
        self.recorder.emit(ForTasks(task.task, mapping, worker, body, self.place(node)))

    def owned_loop(self, node: ast.For, over: Tasks, worker: Expr) -> None:
        """Loops whose variables are the slots of register tensors.

        They are unrolled, so that the tensors can be kept in registers.
        """
        mapping = over.mapping
        sizes, task_at = mapping.loops(worker)
        extents = [Const(size, i32) for size in sizes]
        slot = [self.loop_variable("slot", extent) for extent in extents]
        task = tuple(map(index, task_at(slot)))
        inside = mapping.inside(task)
        self.recorder.tasks.append(TaskLoop(mapping, worker, task, tuple(slot)))
        body = self.loop_body(node, "tasks", False, False, task if len(task) != 1 else task[0])
        self.recorder.tasks.pop()
        if inside is not None:
            body = (If(truth(inside), body, (), self.place(node)),)
        active = mapping.active(worker)
        with self.recorder.block() as nest:
            self.emit_nest(node, slot, extents, body, [LoopKind.UNROLL] * len(slot))
        if active is not None:
            nest = [If(truth(active), tuple(nest), (), self.place(node))]
        for stmt in nest:
            self.recorder.emit(stmt)

    def loop_variable(self, name: str, like: Expr) -> Var:
        """A new loop variable of the extent's type."""
        var = Var(name, like.dtype)
        self.recorder.local[var] = None
        return var

    def target_names(self, target: ast.expr, count: int) -> list[str]:
        """Names for `count` loop variables; a single name may stand for all of them."""
        if isinstance(target, ast.Name):
            return [target.id] * count
        elements = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        if len(elements) != count or not elements:
            raise BadScript(
                f"the loop gives {count} numbers in each iteration", place=self.place(target)
            )
        return [each.id if isinstance(each, ast.Name) else "index" for each in elements]

    def loop_body(
        self, node: ast.For, what: str, breaks: bool, continues: bool, values: Any
    ) -> tuple[Stmt, ...]:
        """The statements of a loop's body, with its variables bound to `values`."""
        names = [each for each in ast.walk(node.target) if isinstance(each, ast.Name)]
        for name in names:
            if name.id in self.scope:
                raise self.taken(name)
        if isinstance(node.target, ast.Tuple | ast.List) and not isinstance(values, tuple):
            values = (values,)
        with self.block(node, "for") as body, self.loop(what, breaks, continues):
            self.bind_all(node.target, values)
            for name in names:
                self.scope.fixed[name.id] = "a loop variable"
            self.statements(node.body)
        return tuple(body)

    def emit_nest(
        self,
        node: ast.For,
        loops: Sequence[Var],
        extents: Sequence[Expr],
        body: tuple[Stmt, ...],
        kinds: Sequence[LoopKind],
    ) -> None:
        """Write nested loops around `body`; only the outermost of parallel ones is parallel."""
        for depth in reversed(range(len(loops))):
            inner = depth > 0 and kinds[depth] is LoopKind.PARALLEL
            here = LoopKind.SERIAL if inner else kinds[depth]
            body = (For(loops[depth], extents[depth], body, here, self.place(node)),)
        for stmt in body:
            self.recorder.emit(stmt)

    # ---- other script functions ------------------------------------------------------------------

    def inline(
        self, node: ast.Call, function: Captured, args: list[Any], keywords: dict[str, Any]
    ) -> Any:
        """The result of another script function, whose statements are written here."""
        here = self.place(node)
        if function._kernel is not None:
            launched(self.recorder, function._kernel, args, keywords, here)
            return None
        if isinstance(function, Part):
            function.check(args, keywords)
        depth, caller = 0, here.called_from
        while caller is not None:
            depth, caller = depth + 1, caller.called_from
        if depth > DEEPEST:
            raise BadScript("script functions call one another without end")
        name = self.recorder.name
        inner = Transcriber(function.source, self.recorder, here)
        result = inner.taken_in(self, here, args, keywords)
        if result is None and node is not self.alone:
            raise BadScript(
                f"`{function.source.name}` returns nothing, and its value is used",
                place=here,
                help="end it with `return`, or call it as a statement of its own",
            )
        self.recorder.name, self.recorder.place = name, here
        return result

    def taken_in(
        self, caller: Statements, call: Place, args: list[Any], keywords: dict[str, Any]
    ) -> Any:
        """Write the body with parameters bound to arguments; the value of a last `return`."""
        declared = self.declared_parameters()
        self.recorder.place = call
        names = [arg.arg for arg in declared]
        given = dict(zip(names, args, strict=False)) | keywords
        if len(args) + len(keywords) != len(names) or set(given) != set(names):
            raise BadScript(
                f"`{self.source.name}` takes ({', '.join(names)}); "
                f"arguments given: {len(args) + len(keywords)}",
                place=call,
            )
        for arg in declared:
            try:
                value = self.argument(arg, given[arg.arg])
            except (DtypeMismatch, ShapeMismatch) as error:
                error.place = error.place or call
                raise
            self.scope.bind(arg.arg, value)
        return self.result()

    def result(self) -> Any:
        """Write the body; what its last `return` gives, as the type written after `->`."""
        *body, last = self.source.tree.body
        written = self.source.tree.returns
        of = None if written is None else self.annotated("return", written, "the result")
        if not isinstance(last, ast.Return) or last.value is None:
            self.statements(self.source.tree.body if not isinstance(last, ast.Return) else body)
            if of is not None and written is not None:
                raise BadScript(
                    f"`{self.source.name}` returns {of} and does not end with `return`",
                    place=self.place(written),
                    help="return the result last, or remove the type",
                )
            return None
        self.statements(body)
        value = self.evaluate(last.value)
        if of is None:
            return value
        with self.placed(last.value):
            return converted(value, of, "the result")

    def argument(self, arg: ast.arg, value: Any) -> Any:
        """An argument as its parameter: numbers by value, tensors and pointers as they are."""
        of = self.annotation(arg)
        what = f"`{arg.arg}`"
        if of is None:
            changes = arg.arg in assigned(self.source.tree.body)
            same = not changes and self.recorder.stays(value)
            return value if same else self.settled(arg.arg, value)
        if isinstance(of, TensorType):
            if not is_tensor(value) or value.dtype is not of.dtype:
                raise DtypeMismatch(f"{what} is {of}, the argument is {described(value)}")
            if differ(of, value.type):
                raise ShapeMismatch(f"{what} is {of}, the argument is {described(value)}")
            return value
        if isinstance(of, PointerType) and is_tensor(value):
            value = address(value)
        found = converted(value, of, what)
        if isinstance(of, PointerType) and isinstance(found, Var | Address):
            return found
        var = self.recorder.declare(of, found, arg.arg)
        self.typed.add(var)
        return var


def described(value: Any) -> str:
    """What an argument is, for messages."""
    return spoken(value) if isinstance(value, Expr) or is_number(value) else f"a {kind_of(value)}"
