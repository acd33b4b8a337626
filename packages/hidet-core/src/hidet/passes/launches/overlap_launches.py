"""Kernels that begin before those they depend on have ended: programmatic dependent launch.

The launch of a kernel, and what it does before it touches memory, then takes place while the last
blocks of the kernel before end and what they wrote is made visible. CUDA C++ Programming Guide,
"Programmatic Dependent Launch and Synchronization".
"""

from __future__ import annotations

from hidet.ir.expr import Var
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import For, If, Invoke, Return, Stmt, While
from hidet.ir.walk import find, statements, variables
from hidet.passes.base import kernel_pass, with_body
from hidet.types import PointerType, TensorType

WAIT = "griddepcontrol_wait"
SIGNAL = "griddepcontrol_launch_dependents"


@kernel_pass()
def overlap_launches(kernel: Kernel) -> Kernel:
    """Wait for the kernels before ahead of the first use of memory.

    before   i = threadIdx.x;  y[i] = x[i]
    after    i = threadIdx.x;  griddepcontrol_wait();  y[i] = x[i]

    All threads come past the wait, since it is in no branch and no loop; so when this kernel has
    ended those before it have too, whoever waits for it. What the kernel may read `ahead` of the
    wait it does. A kernel that has a wait of its own is left as it is.

    The next kernel may begin when the blocks of this one end, or as `signal_next` says.
    """
    if kernel.kind is not KernelKind.CUDA or has_wait(kernel):
        return kernel
    place = first_use(kernel)
    return with_body(kernel, (*kernel.body[:place], Invoke(WAIT), *kernel.body[place:]))


def waits_first(kernel: Kernel) -> bool:
    """Whether all threads of a kernel wait for the ones before it ahead of the first use of memory,
    and before the next one may begin.

    Only then may it begin before those have ended: the next one takes it that they have.
    """
    place = next((i for i, s in enumerate(kernel.body) if is_wait(s)), None)
    if place is None or any(s.name == SIGNAL for s in find(kernel.body[:place], Invoke)):
        return False
    return place <= first_use(kernel)


def has_wait(kernel: Kernel) -> bool:
    """Whether the kernel waits for those before it anywhere."""
    return any(is_wait(s) for s in find(kernel.body, Invoke))


def is_wait(s: Stmt) -> bool:
    """Whether `s` is the wait for the kernels before."""
    return isinstance(s, Invoke) and s.name == WAIT


def first_use(kernel: Kernel) -> int:
    """The position in the body of the first statement that may use global memory but for what may
    be read ahead, or leave."""
    memory = {var for var in kernel.params if isinstance(var.of, TensorType | PointerType)}
    memory = memory.difference(kernel.ahead)
    memory |= {each.var for each in kernel.maps if each.tensor in memory}
    found = (i for i, s in enumerate(kernel.body) if uses(s, memory))
    return next(found, len(kernel.body))


def uses(s: Stmt, memory: set[Var]) -> bool:
    """Whether something in `s` mentions what leads to global memory, or leaves the kernel."""
    return any(leaves(each) or leads(each, memory) for each in statements(s))


def leaves(s: Stmt) -> bool:
    """Whether `s` ends its thread, or the kernel."""
    return isinstance(s, Return) or (isinstance(s, Invoke) and s.name == "trap")


def leads(s: Stmt, memory: set[Var]) -> bool:
    """Whether `s` itself, without the statements in it, mentions what leads to global memory."""
    match s:
        case Invoke() if is_hint(s):
            return False
        case For(extent=head) | While(condition=head) | If(condition=head):
            return not memory.isdisjoint(variables(head))
        case _:
            return not memory.isdisjoint(variables(s))


def is_hint(s: Invoke) -> bool:
    """Whether an intrinsic only says which tensor map will be used, not what is in the tensor."""
    return s.name == "tma_prefetch_map"
