from hidet.ir.access import read_only
from hidet.ir.expr import Address, Const, Load, Var
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Invoke, Store
from hidet.types import f32, i32


def test_only_what_is_just_loaded_is_constant():
    loaded, also, stored, passed = (Var(name, ~f32) for name in ("a", "b", "c", "d"))
    size, zero = Var("n", i32), (Const(0, i32),)
    body = (
        Store(stored, zero, Load(loaded, zero) + Load(also, zero) + Load(passed, zero)),
        Invoke("copy", (Address(passed, zero),)),
    )
    kernel = Kernel("k", (loaded, also, stored, passed, size), body)
    assert read_only(kernel) == {loaded, also}
