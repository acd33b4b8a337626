"""What the names in a script function stand for, block by block."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hidet.errors import BadScript
from hidet.ir.expr import Expr


class Scope:
    """Local names over those seen from outside; a block's own names end with it.

    Run-time scalars are bound to their variable, everything else to the Python value itself.
    """

    def __init__(self, outside: Mapping[str, Any], local: frozenset[str]) -> None:
        self.outside = outside
        self.local = local
        self.blocks: list[dict[str, Any]] = [{}]
        self.fixed: dict[str, str] = {}
        """Names that cannot be assigned, and what they are."""
        self.ended: dict[str, str] = {}
        """Names that were bound in a block that is over, and which block that was."""

    def __contains__(self, name: str) -> bool:
        return any(name in block for block in self.blocks)

    def here(self, name: str) -> bool:
        """Whether `name` was bound in the innermost block."""
        return name in self.blocks[-1]

    def value(self, name: str) -> Any:
        """What `name` stands for; BadScript if for nothing."""
        for block in reversed(self.blocks):
            if name in block:
                return block[name]
        if name in self.local:
            raise self.unbound(name)
        if name in self.outside:
            return self.outside[name]
        near = difflib.get_close_matches(name, [*self.local, *self.outside], n=1, cutoff=0.75)
        hint = f"did you mean `{near[0]}`?" if near else "import it or define it above"
        raise BadScript(f"there is no name `{name}`", help=hint)

    def unbound(self, name: str) -> BadScript:
        """The error for reading a local name that has no value here."""
        if name in self.ended:
            return BadScript(
                f"`{name}` has a value only inside {self.ended[name]}",
                help=f"give `{name}` a first value before it",
            )
        if name in self.outside:
            return BadScript(
                f"`{name}` is a constant from outside of the script, which assigns it",
                help="assign to another name: a name that is assigned is local everywhere",
            )
        return BadScript(f"`{name}` is used before it has a value")

    def run_time(self) -> dict[str, Any]:
        """The names that stand for what is known only when the kernel runs."""
        found: dict[str, Any] = {}
        for block in self.blocks:
            found.update(block)
        return {name: value for name, value in found.items() if isinstance(value, Expr)}

    def bind(self, name: str, value: Any) -> None:
        """Let `name` stand for `value` from here to the end of the innermost block."""
        self.blocks[-1][name] = value

    def rebind(self, name: str, value: Any) -> None:
        """Let `name` stand for `value` in the block in which it was bound."""
        for block in reversed(self.blocks):
            if name in block:
                block[name] = value
                return
        self.bind(name, value)

    @contextmanager
    def block(self, what: str) -> Iterator[None]:
        """A block whose statements may run never or often; its names end with it."""
        self.blocks.append({})
        fixed = dict(self.fixed)
        try:
            yield
        finally:
            self.fixed = fixed
            for name in self.blocks.pop():
                self.ended[name] = what
