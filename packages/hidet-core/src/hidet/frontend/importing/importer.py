"""From a framework's graph to a FlowGraph: the walk that every frontend shares.

A frontend subclasses `Importer` and says what its nodes are; the walk converts them, expands
functions, leaves to the framework what the compiler lacks, and collects everything that nobody can
run, so that one error names all of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from hidet.errors import HidetError, InternalError, LimitExceeded, NeedsValue, NotYet, Place
from hidet.frontend.importing.converters import Converters
from hidet.frontend.importing.coverage import Coverage, Use
from hidet.frontend.importing.limits import Limits
from hidet.frontend.importing.report import require_runnable
from hidet.frontend.running.fallback import FallbackCalls, HostCall
from hidet.frontend.running.host_values import HostFunction
from hidet.graph import Tensor, placed

N = TypeVar("N")
NO_CONVERTER = "there is no converter"


class Lost:
    """Stands for a result of a node that nobody can run, until the error that names all of them."""


LOST = Lost()


@dataclass(frozen=True)
class Notes:
    """What an importer had noted at some time."""

    uses: int
    calls: dict[str, HostCall]
    functions: int
    token: Tensor | None
    has_lost: bool


USUAL = Limits()


class Importer(ABC, Generic[N]):
    """Walks one graph; `values` has what each name became: a tensor, a list of values, or None.

    Subclasses are called with the node's place in force, inside `hidet.graph.tracing`.
    """

    framework: str = ""

    def __init__(self, table: Converters[Any], device: str, limits: Limits = USUAL) -> None:
        self.table, self.device, self.limits = table, device, limits
        self.values: dict[Hashable, Any] = {}
        self.uses: list[Use] = []
        self.fallback = FallbackCalls(device)
        self.walked = 0
        self.depth = 0
        self.has_lost = False

    # ---- what a frontend says --------------------------------------------------------------------

    @abstractmethod
    def key(self, node: N) -> tuple[Hashable, int]:
        """The operator, and its version: 0 where the framework has no versions."""

    @abstractmethod
    def place(self, node: N) -> Place | None:
        """Where in the user's model the node is."""

    @abstractmethod
    def arguments(self, node: N) -> tuple[Sequence[Any], dict[str, Any]]:
        """The values and attributes that the node's converter takes."""

    @abstractmethod
    def results(self, node: N) -> Sequence[Hashable | None]:
        """The names of the node's results; None for one that nobody reads."""

    def title(self, node: N) -> str:
        """What users call the operator."""
        return str(self.key(node)[0])

    def converter(self, node: N) -> Callable[..., Any]:
        """What converts the node; raises a HidetError that says why nothing does."""
        found = self.table.find(*self.key(node))
        if found is None:
            raise NotYet(NO_CONVERTER)
        return found

    def agreed(self, node: N, found: Sequence[Any]) -> Sequence[Any]:
        """The results as the framework is sure they are: of these types and shapes."""
        return found

    def expand(self, node: N) -> bool:
        """Convert the node by way of the function that defines it, with `inside`; False if it has
        none."""
        return False

    def leave(self, node: N) -> HostCall | HostFunction | None:
        """How the framework runs the node; None if it cannot."""
        return None

    # ---- the walk --------------------------------------------------------------------------------

    def walk(self, nodes: Iterable[N]) -> None:
        """Convert nodes, which come in an order in which they can run."""
        for node in nodes:
            self.walked += 1
            self.limits.require("nodes", self.walked)
            with placed(self.place(node)):
                self.visit(node)

    def inside(self, nodes: Iterable[N]) -> None:
        """Convert the nodes of a function that a node calls."""
        self.depth += 1
        self.limits.require("calls", self.depth)
        try:
            self.walk(nodes)
        finally:
            self.depth -= 1

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """In this block the bodies of control flow are converted; if that fails, nothing of it is
        left. NotYet for a host step with effects in them: these keep their order in one graph."""
        before = self.notes()
        try:
            yield
            if self.fallback.token is not before.token:
                raise NotYet("an operator with effects within control flow")
        except HidetError:
            self.forget_since(before)
            raise

    @contextmanager
    def look(self) -> Iterator[None]:
        """In this block nodes are converted only to see what they give: nothing of it is left."""
        before = self.notes()
        try:
            yield
        finally:
            self.forget_since(before)

    def notes(self) -> Notes:
        """What is noted of the nodes up to here."""
        fallback, functions = self.fallback, len(self.fallback.functions)
        return Notes(len(self.uses), dict(fallback.calls), functions, fallback.token, self.has_lost)

    def forget_since(self, before: Notes) -> None:
        """Leave nothing of the nodes since then."""
        del self.uses[before.uses :]
        del self.fallback.functions[before.functions :]
        self.fallback.calls, self.fallback.token = before.calls, before.token
        self.has_lost = before.has_lost

    def visit(self, node: N) -> None:
        """One node; frontends whose graphs hold more than operators override it."""
        self.operator(node)

    def operator(self, node: N) -> None:
        """An operator: converted, expanded, left to the framework, or lost; never in silence."""
        reason = self.converted(node)
        if reason and self.expand(node):
            return
        is_lost = bool(reason) and not self.left(node)
        self.uses.append(Use(self.title(node), self.place(node), reason, is_lost))

    def converted(self, node: N) -> str:
        """Convert a node; the reason if that is not possible, empty if it is done."""
        try:
            convert = self.converter(node)
            if self.needs_lost(node):
                self.lose(node)
                return ""
            given, named = self.arguments(node)
            found = convert(*given, **named)
            self.bind(node, self.agreed(node, found if isinstance(found, tuple) else (found,)))
        except (InternalError, LimitExceeded):  # the framework would take as much
            raise
        except NeedsValue as error:
            if error.inputs:  # who imports can give them, and start again
                raise
            return error.message
        except HidetError as error:
            return error.message
        return ""

    def left(self, node: N) -> bool:
        """Let the framework run a node; False if it cannot."""
        call = None if self.needs_lost(node) else self.leave(node)
        if call is None:
            self.lose(node)
        else:
            self.bind(node, self.fallback.add(call))
        return call is not None

    def needs_lost(self, node: N) -> bool:
        """Whether the node reads what nobody can compute."""
        if not self.has_lost:
            return False
        given, named = self.arguments(node)
        return any(value is LOST for value in (*given, *named.values()))

    def require_done(self, found: Iterable[Any]) -> None:
        """Raise NotYet if one of a body's results is nothing that anybody can compute."""
        if not any(each is LOST for each in found):
            return
        (*_, lost) = (use for use in self.uses if use.is_lost)
        raise NotYet(f"nothing runs {lost.operator}, which its body needs: {lost.reason}")

    def lose(self, node: N) -> None:
        """Note that nobody can compute a node's results."""
        self.has_lost = True
        self.bind(node, [LOST] * len(self.results(node)))

    def bind(self, node: N, values: Sequence[Any]) -> None:
        """Give a node's results their names."""
        for name, value in zip(self.results(node), values, strict=False):
            if name is not None:
                self.values[name] = value

    def coverage(self) -> Coverage:
        """What became of each operator; raises UnsupportedOp that lists what nobody can run."""
        found = Coverage(tuple(self.uses))
        require_runnable(found, self.framework)
        return found
