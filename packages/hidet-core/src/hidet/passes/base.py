"""What a pass is, and how passes run one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from hidet.errors import InternalError
from hidet.ir.kernel import Kernel
from hidet.ir.node import Node
from hidet.ir.walk import postorder

Removes = tuple[type[Node], ...]
Observer = Callable[["Pass", Kernel], None]


@dataclass(frozen=True)
class Pass:
    """A step from kernel to kernel; after it, no node of a class in `removes` is left, ever."""

    name: str
    run: Callable[[Kernel], Kernel]
    removes: Removes = ()

    def __call__(self, kernel: Kernel) -> Kernel:
        """The kernel after this pass alone."""
        return self.run(kernel)


def kernel_pass(removes: Removes = ()) -> Callable[[Callable[[Kernel], Kernel]], Pass]:
    """Make a function a pass of the same name, which gets rid of the classes in `removes`."""

    def declare(function: Callable[[Kernel], Kernel]) -> Pass:
        made = Pass(function.__name__, function, removes)
        object.__setattr__(made, "__doc__", function.__doc__)
        return made

    return declare


def run(kernel: Kernel, passes: Iterable[Pass], observers: Iterable[Observer] = ()) -> Kernel:
    """`kernel` after all `passes`, each shown to all `observers`; a kernel is never changed itself.

    An InternalError says which pass brought back what an earlier one had removed.
    """
    watching = tuple(observers)
    gone: Removes = ()
    fine: set[Node] = set()
    for each in passes:
        kernel = each.run(kernel)
        if each.removes:
            gone += each.removes
            fine = set()
        verify(each, kernel, gone, fine)
        for observer in watching:
            observer(each, kernel)
    return kernel


def verify(after: Pass, kernel: Kernel, gone: Removes, fine: set[Node]) -> None:
    """Raise an InternalError if a node is left that a pass has removed; `fine` ones are not."""
    if not gone:
        return
    for node in postorder(kernel, fine):
        if isinstance(node, gone):
            raise InternalError(
                f"pass {after.name!r} left a {type(node).__name__} behind in {kernel.name}: {node}",
                place=getattr(node, "place", None),
            )


def with_body(kernel: Kernel, body: tuple[Node, ...]) -> Kernel:
    """The kernel with another body; itself if it is the same one."""
    same = len(body) == len(kernel.body) and all(
        a is b for a, b in zip(body, kernel.body, strict=True)
    )
    return kernel if same else replace(kernel, body=body)  # type: ignore[arg-type]
