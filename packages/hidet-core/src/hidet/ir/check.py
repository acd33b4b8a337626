"""Is a kernel well formed? Types agree, variables are declared, nothing forbidden is left."""

from __future__ import annotations

from collections.abc import Iterable

from hidet.errors import BadKernel, Place
from hidet.ir.expr import (
    Address,
    And,
    Binary,
    Dot,
    Expr,
    FromAccumulators,
    Get,
    Lane,
    Load,
    Not,
    Or,
    Select,
    Var,
)
from hidet.ir.kernel import Kernel, TensorMap
from hidet.ir.node import Node, nodes_in
from hidet.ir.stmt import (
    Assert,
    Assign,
    Body,
    Break,
    Continue,
    Declare,
    For,
    ForTasks,
    If,
    Put,
    Stmt,
    Store,
    While,
)
from hidet.ir.walk import find, introduced, postorder, variables
from hidet.types import (
    DType,
    PointerType,
    TensorType,
    Type,
    VectorType,
    bf16,
    boolean,
    f32,
    i8,
    i16,
    i32,
    u8,
)


def check(kernel: Kernel, forbidden: Iterable[type[Node]] = ()) -> None:
    """Raise BadKernel, with the place of the statement, if `kernel` breaks a rule of the IR.

    Nodes of `forbidden` classes may not be in it; symbols in the shapes of parameters and in the
    launch sizes need no declaration; where pointers have taken the place of tensors, no free
    integer does.
    """
    Checker(kernel, tuple(forbidden)).run()


class Checker:
    """Checks one kernel; `place` is that of the statement at hand."""

    def __init__(self, kernel: Kernel, forbidden: tuple[type[Node], ...]) -> None:
        self.kernel = kernel
        self.forbidden = forbidden
        self.place: Place | None = kernel.place
        self.visible: set[Var] = set(kernel.params)
        self.fine: set[Expr] = set()
        self.loops = 0

    def run(self) -> None:
        """Check everything."""
        launch = (*self.kernel.launch.grid, *self.kernel.launch.block)
        shapes = [p.of.shape for p in self.kernel.params if isinstance(p.of, TensorType)]
        maps = [(each.shape, each.strides) for each in self.kernel.maps]
        self.visible.update(find(list(nodes_in((tuple(shapes), launch, tuple(maps)))), Var))
        self.visible.update(each.var for each in self.kernel.maps)
        if any(isinstance(p.of, PointerType) for p in self.kernel.params):
            self.visible.update(self.symbols())
        for size in launch:
            self.expression(size)
            self.want(is_integer(size), f"a launch size is {size.type}, not an integer: {size}")
        for each in self.kernel.maps:
            self.map(each)
        self.body(self.kernel.body)

    def map(self, map: TensorMap) -> None:
        """A tensor map: of a parameter, its sizes and strides integers, as many as it has axes."""
        self.want(map.tensor in self.kernel.params, f"`{map.var}` is of no parameter: {map}")
        fits = len(map.shape) == map.of.rank == len(map.strides) + 1
        self.want(fits, f"`{map.var}` has not the sizes and strides of {map.of.rank} axes: {map}")
        self.want(map.tensor.dtype is map.of.dtype, f"`{map.var}` is of other elements: {map}")
        for size in (*map.shape, *map.strides):
            self.expression(size)
            self.want(is_integer(size), f"a size of a tensor map is {size.type}: {size}")

    def symbols(self) -> Iterable[Var]:
        """The free integers of a kernel whose parameters have lost their shapes: sizes."""
        bound = set(introduced(self.kernel.body))
        found = (var for var in variables(self.kernel.body) if var not in bound)
        return (var for var in found if is_integer(var))

    def want(self, holds: bool, message: str, help: str | None = None) -> None:
        """Raise BadKernel unless `holds`."""
        if not holds:
            raise BadKernel(f"{self.kernel.name}: {message}", place=self.place, help=help)

    # ---- statements -----------------------------------------------------------------------------

    def body(self, body: Body, introduced: tuple[Var, ...] = (), iterations: int = 0) -> None:
        """A list of statements; what they declare is visible to the end of the list."""
        outside = self.visible
        self.visible = outside | set(introduced)
        self.loops += iterations
        for s in body:
            self.want(isinstance(s, Stmt), f"not a statement: {s}")
            self.place = s.place or self.kernel.place  # type: ignore[attr-defined]
            self.statement(s)
        self.loops -= iterations
        self.visible = outside

    def statement(self, s: Stmt) -> None:
        """A statement."""
        self.allowed(s)
        match s:
            case For(var, extent, body):
                self.expression(extent)
                self.want(is_integer(extent), f"the extent of a loop is {extent.type}: {extent}")
                self.body(body, (var,), iterations=1)
            case ForTasks(names, mapping, worker, body):
                self.expression(worker)
                rank = len(mapping.shape)
                self.want(len(names) == rank, f"{len(names)} names for tasks of {rank} indices")
                self.body(body, names, iterations=1)
            case While(condition, body):
                self.condition(condition)
                self.body(body, iterations=1)
            case If(condition, then, otherwise):
                self.condition(condition)
                self.body(then)
                self.body(otherwise)
            case Break() | Continue():
                self.want(self.loops > 0, f"{s} outside of a loop")
            case Declare(var, init):
                self.declare(var, init)
            case _:
                self.simple(s)

    def declare(self, var: Var, init: Expr | None) -> None:
        """A declaration."""
        self.want(var not in self.visible, f"`{var}` is declared twice")
        if init is not None:
            self.expression(init)
            element = var.of.dtype if isinstance(var.of, TensorType) else var.of
            self.want(init.type == element, f"`{var}` is {element}, its first value {init.type}")
        else:
            scalar = not isinstance(var.of, TensorType)
            self.want(not scalar or var.of is not None, f"`{var}` has no type")
        self.visible = self.visible | {var}

    def simple(self, s: Stmt) -> None:
        """A statement without a body."""
        for child in s.children():
            if isinstance(child, Expr):
                self.expression(child)
        match s:
            case Assign(var, value):
                self.want(
                    not isinstance(var.of, TensorType) and value.type == var.of,
                    f"`{var}` is {var.of}, the value assigned {value.type}",
                )
            case Store(tensor, index, value) | Put(tensor, index, value):
                self.access(tensor, index)
                self.want(
                    isinstance(value.type, DType | VectorType) and value.dtype is tensor.dtype,
                    f"a value of {value.type} is stored in {tensor}, which holds {tensor.dtype}",
                )
            case Assert(condition):
                self.condition(condition)

    # ---- expressions ----------------------------------------------------------------------------

    def expression(self, root: Expr) -> None:
        """An expression and all in it."""
        for e in postorder(root):
            if isinstance(e, Var):
                self.want(
                    e in self.visible,
                    f"`{e}` is not declared here",
                    help="declare it, or make it a parameter",
                )
            elif isinstance(e, Expr) and e not in self.fine:
                self.allowed(e)
                self.operands(e)
                self.fine.add(e)

    def operands(self, e: Expr) -> None:
        """The operands of one expression."""
        match e:
            case And(a, b) | Or(a, b):
                self.want(
                    a.type is boolean and b.type is boolean, f"`{e}` of {a.type} and {b.type}"
                )
            case Binary(a, b):
                self.want(a.type == b.type, f"`{e}` combines {a.type} with {b.type}")
            case Not(a):
                self.want(a.dtype is boolean, f"`{e}` of {a.type}")
            case Select(condition, then, otherwise):
                self.condition(condition)
                self.want(then.type == otherwise.type, f"`{e}` is {then.type} or {otherwise.type}")
            case (
                Load(tensor, index)
                | Get(tensor, index)
                | FromAccumulators(tensor, index)
                | Address(tensor, index)
            ):
                self.access(tensor, index)
            case Dot(total, a, b):
                self.want(is_dot(total.type, a.type, b.type), f"`{e}` of {a.type} and {b.type}")
            case Lane(vector, lane):
                lanes = vector.type.lanes if isinstance(vector.type, VectorType) else 0
                self.want(0 <= lane < lanes, f"lane {lane} of {vector.type}")

    def condition(self, e: Expr) -> None:
        """A condition."""
        self.expression(e)
        self.want(e.type is boolean, f"the condition `{e}` is {e.type}, not bool")

    def access(self, tensor: Expr, index: tuple[Expr, ...]) -> None:
        """An access of memory: one index for each axis, all integers."""
        of = tensor.type
        self.want(isinstance(of, TensorType | PointerType), f"`{tensor}` is {of}, not memory")
        axes = of.ndim if isinstance(of, TensorType) else 1
        self.want(
            len(index) == axes, f"`{tensor}` has {axes} axes and is used with {len(index)} indices"
        )
        for at in index:
            self.want(is_integer(at), f"the index `{at}` of `{tensor}` is {at.type}")

    def allowed(self, node: Node) -> None:
        """A node of a class that this stage may have."""
        name = type(node).__name__
        self.want(not isinstance(node, self.forbidden), f"a {name} is left: {node}")


DOTS = {(u8, i8): (i32, 4), (i16, i16): (i32, 2), (bf16, bf16): (f32, 2)}
"""Which elements have dot products: the type of their sums, and how many make a group."""


def is_dot(total: Type, a: Type, b: Type) -> bool:
    """Whether there are dot products of groups in such vectors."""
    match total, a, b:
        case VectorType(of, lanes), VectorType(first, some), VectorType(second, all_):
            sums, group = DOTS.get((first, second), (of, 0))
            return of is sums and all_ == group * lanes and some in (group, all_)
    return False


def is_integer(e: Expr) -> bool:
    """Whether `e` is an integer scalar."""
    return isinstance(e.type, DType) and e.type.is_integer
