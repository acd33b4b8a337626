"""Where converters are filed: by domain and operator, and since which version of the domain.

    @onnx("Softmax", since=13)
    def softmax(x: Tensor, *, axis: int = -1) -> Tensor: ...

Operands are positional: an optional one is `Tensor | None = None`, variadic ones are `*operands`.
Attributes are keyword parameters with the schema's names and defaults. They come as numbers, str,
tuples of these, constant tensors, element types (`type_proto` attributes are `TensorType`s), or
`Subgraph`s. Several results are a tuple; one that nobody reads may be left out at its end.
Strings are numpy arrays where they are known and `HostValue`s otherwise, which only converters see
that are filed with `takes_host_values`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from hidet.frontend.importing.converters import Converters

F = TypeVar("F", bound=Callable[..., Any])

table: Converters[tuple[str, str]] = Converters("hidet-onnx")

TAKES_HOST_VALUES: set[Callable[..., Any]] = set()
"""The converters that take values which only the host has, strings among them."""


class Domain:
    """The part of the table for the operators of one domain."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(
        self, *operators: str, since: int = 1, takes_host_values: bool = False
    ) -> Callable[[F], F]:
        """File the decorated function under each of `operators`."""
        file = table(*((self.name, each) for each in operators), since=since)

        def filed(function: F) -> F:
            if takes_host_values:
                TAKES_HOST_VALUES.add(function)
            return file(function)

        return filed

    def rows(self, rows: Mapping[str, Callable[..., Any]], since: int = 1) -> None:
        """File functions whose signatures agree already."""
        table.rows({(self.name, name): function for name, function in rows.items()}, since=since)


onnx = Domain("")
ml = Domain("ai.onnx.ml")
preview = Domain("ai.onnx.preview")
training = Domain("ai.onnx.preview.training")
microsoft = Domain("com.microsoft")
