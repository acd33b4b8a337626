"""Which parameters of a scheduled kernel fusion may take over."""

from hidet.fusion.ports import ports
from hidet.ir.expr import Address, Builtin, Get, Load, Var
from hidet.ir.kernel import Kernel, KernelKind, Launch, single
from hidet.ir.stmt import Declare, Put, Store
from hidet.types import f32

I = Builtin("threadIdx.x")  # noqa: E741
X, Y = Var("x", f32[8,]), Var("y", f32[8,])


def found(*body):
    return ports(single(Kernel("kernel", (X, Y), tuple(body), KernelKind.CUDA, Launch())))


def test_operands_behind_hooks_are_open():
    assert found(Put(Y, (I,), Get(X, (I,)))) == {X, Y}


def test_a_plain_access_closes_a_parameter():
    assert found(Put(Y, (I,), Load(X, (I,)))) == {Y}
    assert found(Store(Y, (I,), Get(X, (I,)))) == {X}


def test_an_address_closes_a_parameter_that_is_read_elsewhere_too():
    pointer = Var("p", Address(X, (I,)).type)
    assert found(Declare(pointer, Address(X, (I,))), Put(Y, (I,), Get(X, (I,)))) == {Y}


def test_what_is_read_and_written_takes_no_hook():
    assert found(Put(Y, (I,), Get(Y, (I,)) + Get(X, (I,)))) == {X}
