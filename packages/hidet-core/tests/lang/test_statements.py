# ruff: noqa: F841
"""Each kind of statement, and the IR it becomes."""

from textwrap import dedent

from hidet.ir.expr import Var
from hidet.lang import (
    address,
    attr,
    attrs,
    bool_,
    f16,
    f32,
    i32,
    i64,
    load,
    printf,
    script,
    store,
)


def body(function) -> str:
    """The text of the kernel's body."""
    lines = str(function.kernel).splitlines()
    start = 1 if function.kernel.kind == "cpu" else 2
    return dedent("\n".join(lines[start:]))


def test_scalars_are_declared_and_assigned():
    @script
    def kernel(a: f32[8], n: i32):
        attr.cuda_block_dim = 32
        x = a[0]
        y: f16 = x
        z: i32
        z = n
        x = x * 2
        x += y
        a[1] = x

    assert body(kernel) == dedent("""\
        x: f32 = a[0]
        y: f16 = f16(x)
        z: i32
        z = n
        x = (x * 2.0)
        x = (x + f32(y))
        a[1] = x""")


def test_numbers_stay_known_until_the_run_time_changes_them():
    @script
    def kernel(a: f32[8], n: i32):
        attr.cuda_block_dim = 32
        width = 4
        width = width * 2
        acc = 0.0
        for i in range(n):
            acc += a[i] * width
        a[0] = acc

    assert body(kernel) == dedent("""\
        acc: f32 = 0.0
        for i in n:
          acc = (acc + (a[i] * 8.0))
        a[0] = acc""")


def test_a_name_may_begin_again_with_another_type():
    @script
    def kernel(a: f16[8], c: f32[8]):
        attr.cuda_block_dim = 32
        x = a[0]
        x = f32(x) * 0.5
        c[0] = x

    assert body(kernel) == dedent("""\
        x: f16 = a[0]
        x_1: f32 = (f32(x) * 0.5)
        c[0] = x_1""")


def test_tuples_are_assigned_at_once():
    @script
    def kernel(a: f32[8]):
        attr.cuda_block_dim = 32
        x, y = a[0], a[1]
        x, y = y, x
        a[0], a[1] = a[1], a[0]
        a[2] = x + y

    assert body(kernel) == dedent("""\
        x: f32 = a[0]
        y: f32 = a[1]
        earlier: f32 = y
        earlier_1: f32 = x
        x_1: f32 = earlier
        y_1: f32 = earlier_1
        earlier_2: f32 = a[1]
        earlier_3: f32 = a[0]
        a[0] = earlier_2
        a[1] = earlier_3
        a[2] = (x_1 + y_1)""")


def test_a_tuple_keeps_the_values_it_was_given():
    @script
    def kernel(a: f32[8]):
        attr.cuda_block_dim = 32
        pair = (a[0], 3)
        a[0] = 5
        a[pair[1]] = pair[0]

    assert body(kernel) == dedent("""\
        pair: f32 = a[0]
        a[0] = 5.0
        a[3] = pair""")


def test_if_and_elif():
    @script
    def kernel(a: f32[8], n: i32):
        attr.cuda_block_dim = 32
        x = 0.0
        if n == 1:
            x = 1.0
        elif not (n < 5 or n > 7) and n != 6:
            x = 2.0
        else:
            return
        a[0] = x

    assert body(kernel) == dedent("""\
        x: f32 = 0.0
        if (n == 1):
          x = 1.0
        else:
          x_1: f32 = x
          if ((not ((n < 5) or (7 < n))) and (n != 6)):
            x = 2.0
          else:
            return
        a[0] = x""").replace("  x_1: f32 = x\n", "")


def test_a_known_condition_leaves_one_branch():
    fast, name = True, None

    @script
    def kernel(a: f32[8]):
        attr.cuda_block_dim = 32
        if fast and name is None:
            width = 4
        else:
            width = undefined_elsewhere  # noqa: F821
        a[width] = 1 if f32 == f16 else 2

    assert body(kernel) == "a[4] = 2.0"


def test_assert_and_printf():
    @script
    def kernel(a: f32[8], n: i32):
        """A docstring says nothing."""
        attr.cuda_block_dim = 32
        assert n > 0, "n is positive"
        assert n < 9
        assert len("ab") == 2
        printf("%d %f\n", n, a[0])

    assert body(kernel) == dedent("""\
        assert (0 < n), 'n is positive'
        assert (n < 9), 'assertion failed: n < 9'
        print('%d %f\\n', n, a[0])""")


def test_pointers_vectors_and_addresses():
    @script
    def kernel(a: f32[8, 8], p: ~f32, n: i32):
        attr.cuda_block_dim = 32
        p[n] = p[0] + 1
        q = p + 4
        q[0] = 2
        v = load(a, n, 0, lanes=4)
        v[1] = 7
        v = v * 2
        store(a, n, 4, v)
        store(q, 1, v[3])
        r = ~a[1, 2]
        r[0] = 0
        s = address(a, 0, n)
        s[1] = 0

    assert body(kernel) == dedent("""\
        p[n] = (p[0] + 1.0)
        q: ~f32 = &p[4]
        q[0] = 2.0
        v: f32x4 = a[n, 0:4]
        v = <v.0, 7.0, v.2, v.3>
        v = (v * <2.0 x 4>)
        a[n, 4] = v
        q[1] = v.3
        r: ~f32 = &a[1, 2]
        r[0] = 0.0
        s: ~f32 = &a[0, n]
        s[1] = 0.0""")


def test_hooks():
    @script
    def kernel(x: f16[8, 8], y: f32[8, 8], n: i32):
        attr.cuda_block_dim = 32
        y.put(n, n + 1, x.get(n, -1))
        y.put(n, 0, x.shape[0] + x.ndim)

    assert body(kernel) == dedent("""\
        y.put(n, (n + 1), f32(x.get(n, -1)))
        y.put(n, 0, 10.0)""")


def test_attributes_in_both_spellings():
    m = Var("m", i32)

    @script
    def first(a: f32[m]):
        blocks = (m + 31) // 32
        attr.cuda_grid_dim = blocks, 2
        attr.cuda_block_dim = (8, 4)
        attr.cuda_cluster_dim = 2
        attr.cuda_dynamic_smem_bytes = 1024
        attr.cuda_min_blocks = 3
        attr.func_name = "renamed"

    @script
    def second(a: f32[m]):
        attrs.func_kind = "cuda_kernel"
        attrs.cuda.grid_dim = m
        attrs.cuda.block_dim = 32

    assert first.name == "renamed"
    assert str(first.kernel.launch) == (
        "grid (((m + 31) // 32), 2, 1), block (8, 4, 1), cluster (2, 1, 1), "
        "shared 1024 bytes, at least 3 blocks"
    )
    assert str(second.kernel.launch) == "grid (m, 1, 1), block (32, 1, 1)"


def test_sizes_of_variables_follow_their_first_number():
    @script
    def kernel(a: i64[8], n: i32):
        attr.cuda_block_dim = 32
        big = 1 << 40
        flag = False
        for i in range(n):
            big += i
            flag = bool_(i)
        if flag:
            a[0] = big

    assert body(kernel) == dedent("""\
        big: i64 = 1099511627776:i64
        flag: bool = False
        for i in n:
          big = (big + i64(i))
          flag = bool(i)
        if flag:
          a[0] = big""")
