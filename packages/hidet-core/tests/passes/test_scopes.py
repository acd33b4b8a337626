"""What is known at each statement of a kernel."""

from hidet.ir.bounds import Range
from hidet.ir.expr import Builtin, Var, wrap
from hidet.ir.kernel import Kernel, KernelKind
from hidet.ir.stmt import Assign, Declare, For, If, Invoke, Print, Return
from hidet.passes.scopes import Scoped, assigned, kernel_bounds, symbols
from hidet.types import f32, i32

m, n = Var("m", i32), Var("n", i32)
i, j, c = Var("i", i32), Var("j", i32), Var("c", i32)
x = Var("x", f32[m])
THREAD, BLOCK = Builtin("threadIdx.x"), Builtin("blockIdx.x")


class Asking(Scoped):
    """Notes what is known of the first operand at each print."""

    def leaf(self, s):
        if isinstance(s, Print):
            self.seen.append(self.bounds.range(s.args[0]))
        return super().leaf(s)


def asked(*body, **more):
    walk = Asking(Kernel("k", (x,), body, **more))
    walk.seen = []
    walk.run()
    return walk.seen


def ask(e):
    return Print("%d", (e,))


def test_loops_conditions_and_names():
    found = asked(
        For(i, wrap(8), (Declare(j, i * 4), ask(j), If(i < 3, (ask(i),), (ask(i),)))),
    )
    assert found == [Range(0, 28, 4, 0), Range(0, 2), Range(3, 7)]


def test_leaving_early():
    assert asked(For(i, wrap(8), (If(i >= 5, (Return(),)), ask(i)))) == [Range(0, 4)]


def test_facts_end_with_their_scope():
    assert asked(For(i, wrap(8), (If(i < 3, (ask(i),)), ask(i)))) == [Range(0, 2), Range(0, 7)]


def test_variables_that_are_assigned_are_unknown():
    assert asked(Declare(c, wrap(0)), Assign(c, c + 1), ask(c)) == [Range()]


def test_launch_sizes(kernels):
    found = asked(ask(THREAD), ask(BLOCK), launch=kernels.grid(4, threads=64))
    assert found == [Range(0, 63), Range(0, 3)]


def test_symbolic_launch_sizes(kernels):
    bounds = kernel_bounds(Kernel("k", (x,), (), launch=kernels.grid(m)))
    assert bounds.known(m > BLOCK) is True
    assert bounds.known(m >= 1) is True


def test_cpu_kernels_have_no_threads():
    assert kernel_bounds(Kernel("k", (x,), (), KernelKind.CPU)).range(THREAD) == Range(0, None)


def test_symbols_and_assigned_variables():
    body = (Declare(c, n), Assign(c, c + 1), Invoke("shuffle", (), (j,)), ask(i))
    kernel = Kernel("k", (x, i), (Declare(j, wrap(0)), *body))
    assert symbols(kernel) == [n]
    assert assigned(kernel) == {c, j}
