"""Walking and changing programs, written once for all node classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from hidet.ir.expr import Expr, Var
from hidet.ir.node import Node, nodes_in
from hidet.ir.stmt import Body, Declare, For, ForTasks, Stmt
from hidet.types import TensorType

N = TypeVar("N", bound=Node)


def postorder(root: Node | Iterable[Node], seen: set[Node] | None = None) -> Iterator[Node]:
    """Every node once, children before parents, in a fixed order, without recursion.

    Nodes in `seen`, and what is below them, are left out; those that are found are added to it.
    """
    return iter(ordered(root, set() if seen is None else seen))


def ordered(
    root: Node | Iterable[Node], seen: set[Node], only: frozenset[Node] | None = None
) -> list[Node]:
    """The nodes of `postorder`; if `only` is given, those that mention one of these variables."""
    pending: list[Any] = [root] if isinstance(root, Node) else list(reversed(list(root)))
    found: list[Node] = []
    while pending:
        current = pending.pop()
        if current is None:  # a mark: all below the next one has been seen
            found.append(pending.pop())
        elif current not in seen:
            seen.add(current)
            if only is not None and only.isdisjoint(current.mentioned()):
                continue
            below = current.children()
            if below:
                pending += (current, None)
                pending += below[::-1]
            else:
                found.append(current)
    return found


def statements(root: Node | Iterable[Node]) -> list[Stmt]:
    """Every statement, inner ones first, in the order of `postorder`."""
    found: list[Stmt] = []

    def visit(nodes: Iterable[Node]) -> None:
        for each in nodes:
            if not isinstance(each, Expr):
                visit(each.children())
                if isinstance(each, Stmt):
                    found.append(each)

    visit([root] if isinstance(root, Node) else root)
    return found


def find(root: Node | Iterable[Node], kind: type[N]) -> Iterator[N]:
    """The nodes of class `kind`, each once, children before parents."""
    nodes = statements(root) if issubclass(kind, Stmt) else postorder(root)
    return (each for each in nodes if isinstance(each, kind))


def contains(root: Node | Iterable[Node], kind: type[Node]) -> bool:
    """Whether a node of class `kind` is anywhere in `root`."""
    return next(find(root, kind), None) is not None


def variables(root: Node | Iterable[Node], apart: Iterable[Node] = ()) -> list[Var]:
    """The variables mentioned, in order of appearance; those in shapes of tensors too.

    What is below the nodes `apart` is left out.
    """
    found: dict[Var, None] = {}
    for var in postorder(root, set(apart)):
        if not isinstance(var, Var):
            continue
        found[var] = None
        if isinstance(var.of, TensorType):
            found.update(dict.fromkeys(find(list(nodes_in(var.of.shape)), Var)))
    return list(found)


def introduced(body: Body) -> list[Var]:
    """The variables that statements introduce: by declaring them or by looping over them."""
    found: list[Var] = []
    for s in find(body, Stmt):
        match s:
            case Declare(var=var) | For(var=var):
                found.append(var)
            case ForTasks(vars=names):
                found.extend(names)
    return found


def rebuild(root: N, change: Callable[[Node], Any]) -> N:
    """`root` with `change` applied to each node, children first, each expression once.

    `change` gets a node whose children are already changed and returns its replacement (or the
    node itself). For a statement it may return a tuple of statements.
    """
    done: dict[Node, Any] = {}
    for each in postorder(root):
        done[each] = change(each.map_children(done.__getitem__))
    return done[root]  # type: ignore[no-any-return]


def rebuild_body(body: Body, change: Callable[[Node], Any]) -> Body:
    """A list of statements with `change` applied to every node in it."""
    return tuple(flat(rebuild(stmt, change) for stmt in body))


def rebuild_statements(body: Body, change: Callable[[Stmt], Any]) -> Body:
    """A list of statements with `change` applied to every statement in it, inner ones first."""

    def visit(node: Node) -> Any:
        if isinstance(node, Expr):
            return node
        return change(node.map_children(visit))  # type: ignore[arg-type]

    return tuple(flat(map(visit, body)))


def flat(made: Iterable[Any]) -> Iterator[Stmt]:
    """Statements, and those in tuples of statements."""
    for each in made:
        if isinstance(each, tuple):
            yield from each
        else:
            yield each


class Changed(dict[Node, Any]):
    """What nodes have become; others are as they were."""

    def __missing__(self, node: Node) -> Node:
        return node


def substitute(root: N, values: Mapping[Var, Expr]) -> N:
    """`root` with variables replaced by values."""
    done = Changed()
    for each in ordered(root, set(), frozenset(values)):
        if isinstance(each, Var):
            done[each] = values[each]
        else:
            done[each] = each.map_children(done.__getitem__)
    return done[root]  # type: ignore[no-any-return]


def replaced(root: N, known: Mapping[Expr, Expr]) -> N:
    """`root` with whole subexpressions replaced, the outermost of them first."""
    done: dict[Any, Any] = dict(known)

    def visit(e: Any) -> Any:
        if e not in done:
            done[e] = e.map_children(visit)
        return done[e]

    return visit(root)  # type: ignore[no-any-return]


def substitute_body(body: Body, values: Mapping[Var, Expr]) -> Body:
    """A list of statements with variables replaced by values."""
    return tuple(substitute(stmt, values) for stmt in body)
