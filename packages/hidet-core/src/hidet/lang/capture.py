"""A Python function as its syntax tree, with the true place of everything in it."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

from hidet.errors import BadScript, Place
from hidet.ir.kernel import Kernel


@dataclass(frozen=True)
class Source:
    """A function's tree and the values its free names have where it was defined."""

    tree: ast.FunctionDef
    file: str
    first: int
    """The line of the file at which the captured text starts."""
    lines: tuple[str, ...]
    names: Mapping[str, Any]
    """What the body sees: closure, then globals, then builtins."""
    enclosing: Mapping[str, Any]
    """Local names of the defining function, which postponed annotations may use."""
    annotations: Mapping[str, Any]
    types: Mapping[str, Any] = field(default_factory=dict)
    """The types of parameters that were given by name."""

    @property
    def name(self) -> str:
        """The function's name."""
        return self.tree.name

    def place(self, node: ast.AST, called_from: Place | None = None) -> Place:
        """Where `node` is; a node of several lines is shown by its first."""
        line = getattr(node, "lineno", self.tree.lineno)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        column = characters(text, getattr(node, "col_offset", 0))
        end = column + 1
        if getattr(node, "end_lineno", None) == line:
            end = characters(text, getattr(node, "end_col_offset", 0))
        elif text:
            end = len(text.rstrip())
        return Place(self.file, self.first + line - 1, column, end, self.name, called_from)


def capture(function: Callable[..., Any], depth: int = 1) -> Source:
    """The source of `function`, which is being defined `depth` frames above the caller."""
    plain = inspect.unwrap(function)
    if not isinstance(plain, FunctionType):
        raise BadScript(f"a script is a Python function, not {plain!r}")
    block, tree = written(plain)
    return Source(
        tree=tree,
        file=plain.__code__.co_filename,
        first=plain.__code__.co_firstlineno,
        lines=block,
        names=Names(plain),
        enclosing=dict(sys._getframe(depth + 1).f_locals),
        annotations=plain.__annotations__,
    )


WRITTEN: dict[Place, tuple[CodeType, tuple[str, ...], ast.FunctionDef]] = {}
"""What was read at each place: schedules define the same functions for every operator."""


def written(plain: FunctionType) -> tuple[tuple[str, ...], ast.FunctionDef]:
    """The lines of a function's definition, and their tree, which nobody changes."""
    place = Place(plain.__code__.co_filename, plain.__code__.co_firstlineno)
    lines = linecache.getlines(place.file, plain.__globals__)[place.line - 1 :]
    if not lines:
        raise BadScript(
            f"the source of `{plain.__name__}` cannot be read",
            place=place,
            help="define it in a file or a notebook cell; enter exec()'s text into linecache.cache",
        )
    if place in WRITTEN:
        code, block, tree = WRITTEN[place]
        if code == plain.__code__ and block == tuple(lines[: len(block)]):
            return block, tree
    block = tuple(inspect.getblock(lines))
    tree = parsed(block, place)
    WRITTEN[place] = plain.__code__, block, tree
    return block, tree


def parsed(block: tuple[str, ...], place: Place) -> ast.FunctionDef:
    """The tree of an indented definition, its columns as in the file."""
    text = "".join(block)
    indented = block[0][:1].isspace()
    tree = ast.parse("if True:\n" + text if indented else text)
    if indented:
        ast.increment_lineno(tree, -1)
        [tree] = tree.body  # type: ignore[assignment]
    found = tree.body[0]
    if not isinstance(found, ast.FunctionDef):
        raise BadScript("a script is written as `def`", place=place)
    return found


class Names(Mapping[str, Any]):
    """What a function sees from outside of itself: its closure, then globals, then builtins.

    They are looked up when they are used, as Python does.
    """

    def __init__(self, function: FunctionType) -> None:
        free = function.__code__.co_freevars
        self.closure = dict(zip(free, function.__closure__ or (), strict=True))
        self.rest = (function.__globals__, vars(builtins))

    def __getitem__(self, name: str) -> Any:
        if name in self.closure:
            try:
                return self.closure[name].cell_contents
            except ValueError:  # not assigned yet
                raise KeyError(name) from None
        for names in self.rest:
            if name in names:
                return names[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self.closure, *self.rest[0], *self.rest[1]]))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def characters(text: str, offset: int) -> int:
    """A column counted in UTF-8 bytes, as `ast` counts, in characters."""
    return len(text.encode()[:offset].decode(errors="ignore"))


class Captured:
    """A function of which the source is kept, so that another one can take it in."""

    source: Source
    _kernel: Kernel | None = None
    """The kernel that it is; None if it is a part of kernels, or launches them."""
