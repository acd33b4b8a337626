"""Rewriting by tables of local rules: a rule looks at one node and says what it becomes.

    tidy = Rules("tidy")

    @tidy
    def add_zero(e: Add) -> Expr | None:
        match e:
            case Add(x, Const(0)):
                return x

The annotation files the rule under the node class (`Add | Sub` under both); None leaves the node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, get_args, get_type_hints

from hidet.errors import InternalError
from hidet.ir.node import Node
from hidet.ir.walk import rebuild

N = TypeVar("N", bound=Node)
Rule = Callable[[Any], Node | None]
Trace = Callable[[str, Node, Node], None]


class Rules:
    """A table of rules, joined with `+`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.by_kind: dict[type, list[Rule]] = {}

    def __call__(self, rule: Rule) -> Rule:
        """File `rule` under the classes its first parameter is annotated with."""
        hints = get_type_hints(rule)
        hints.pop("return", None)
        kind = next(iter(hints.values()))
        for each in get_args(kind) or (kind,):
            self.by_kind.setdefault(each, []).append(rule)
        return rule

    def __add__(self, other: Rules) -> Rules:
        both = Rules(f"{self.name}+{other.name}")
        for table in (self, other):
            for kind, rules in table.by_kind.items():
                both.by_kind.setdefault(kind, []).extend(rules)
        return both

    def step(self, node: Node) -> tuple[Node, Rule] | None:
        """What the first rule that applies makes of `node`, and that rule."""
        for rule in self.by_kind.get(type(node), ()):
            after = rule(node)
            if after is not None and after is not node:
                return after, rule
        return None

    def settle(self, node: Node, trace: Trace | None = None, limit: int = 200) -> Node:
        """Apply rules to `node` itself until none applies."""
        for _ in range(limit):
            hit = self.step(node)
            if hit is None:
                return node
            after, rule = hit
            if trace is not None:
                trace(rule.__name__, node, after)
            node = after
        raise InternalError(f"rules {self.name!r} did not settle on {node} in {limit} steps")

    def rewrite(self, root: N, *, trace: Trace | None = None, limit: int = 100) -> N:
        """`root` with the rules applied everywhere until nothing changes."""
        for _ in range(limit):
            after = rebuild(root, lambda n: self.settle(n, trace))
            if after is root:
                return root
            root = after
        raise InternalError(f"rules {self.name!r} did not settle in {limit} rounds")
