# ruff: noqa: F841
"""Values that do not fit where they are used: each error points at exactly the value."""

import math

import pytest

from hidet.errors import DtypeMismatch
from hidet.lang import (
    cast,
    f16,
    f32,
    i8,
    i32,
    load,
    printf,
    register_tensor,
    repeat,
    shared_tensor,
    spatial,
    tensor,
)
from hidet.lang.cuda import threadIdx

from .mistakes import Mistakes

mine = spatial(4, 4) * repeat(2, 2)

table = [1, 2, 3]

case = Mistakes()


def broken(x):
    return 1 if x else 2


def counted(x):
    return len(x)


@case("a[0]", "`a` has 2 dimensions, the index has 1", "one index for each dimension")
def too_few_indices(a: f32[8, 8]):
    x = a[0]


@case("a[8]", "index 8 is outside of dimension 0 of `a`, which is 8")
def index_outside(a: f32[8]):
    x = a[8]


@case("a[-1]", "index -1 is outside of dimension 0 of `a`, which is 8", "do not count from the end")
def negative_index(a: f32[8]):
    x = a[-1]


@case("a[0.5]", "an index is an integer, not `0.5` (f32)", kind=DtypeMismatch)
def fractional_index(a: f32[8]):
    x = a[0.5]


@case("a[0:4]", "a script has no slices of tensors", "loop over the elements")
def tensor_slice(a: f32[8]):
    x = a[0:4]


@case("a + 1", "`a` (f32[8]) is not a number", "index it first")
def tensor_as_number(a: f32[8]):
    x = a + 1


@case("a", "a condition is `a` (f32[8]), not a number", "index it first")
def tensor_as_condition(a: f32[8]):
    if a:
        pass


@case("a[0]", "`n` is i32, the value `a[0]` (f32) is not", "`i32(...)`", DtypeMismatch)
def float_to_integer(a: f32[8]):
    n: i32 = a[0]


@case("a[0]", "the element is i32, the value `a[0]` (f32) is not", "`i32(...)`", DtypeMismatch)
def float_stored_as_integer(a: f32[8], c: i32[8]):
    c[0] = a[0]


@case(
    "a[0] * f32(2)", "`x` is f16, the value {any} does not fit it", "`x: f32 = ...`", DtypeMismatch
)
def wider_value(a: f16[8], n: i32):
    x = a[0]
    for _ in range(n):
        x = a[0] * f32(2)


@case("a[i]", "`x` is i32, the value {any} does not fit it", "`x: f32 = ...`", DtypeMismatch)
def sum_that_begins_as_integer(a: f32[8]):
    x = 0
    for i in range(8):
        x += a[i]


@case("300", "300 does not fit i8", "-128 to 127", DtypeMismatch)
def number_that_does_not_fit(a: f32[8]):
    from_here: i8 = 300


@case("table[threadIdx.x]", "a list is indexed by a value known beforehand, not by {any}", "static")
def list_at_run_time(a: f32[8]):
    a[0] = table[threadIdx.x]


@case("table[0]", "the elements of a list cannot be assigned in a script", "register_tensor")
def assigned_list(a: f32[8]):
    table[0] = 3


@case("tile", "`tile` is `tile` (f32[4] shared), known beforehand, and cannot change at run time")
def tensor_changed_at_run_time(a: f32[8]):
    tile = shared_tensor(f32, 4)
    if a[0] > 0:
        tile = shared_tensor(f32, 4)


@case(
    "shared_tensor(f32, (n, 4))", "a size of a shared tensor is a positive integer, not `n` (i32)"
)
def size_at_run_time(a: f32[8], n: i32):
    tile = shared_tensor(f32, (n, 4))


@case('tensor(f32, 4, "global")', "a kernel cannot make a global tensor", "as a parameter")
def global_tensor(a: f32[8]):
    tile = tensor(f32, 4, "global")


@case(
    "sums[0, 1]",
    "`sums` is spread over workers by spatial(4, 4) * repeat(2, 2): an element is known only to "
    "its owner",
    "index `sums` by the variables of a loop over that mapping",
)
def distributed_elsewhere(a: f32[8, 8]):
    sums = register_tensor(f32, mine)
    for i, j in mine.on(threadIdx.x):
        a[i, j] = sums[0, 1]


@case("sums[i + 1, j]", "{any}", "as they are")
def distributed_neighbour(a: f32[8, 8]):
    sums = register_tensor(f32, mine)
    for i, j in mine.on(threadIdx.x):
        a[i, j] = sums[i + 1, j]


@case(
    "sums[i, j]",
    "`sums` belongs to worker `threadIdx.x`, this loop is of worker `threadIdx.y`",
    "the same worker",
)
def distributed_to_others(a: f32[8, 8]):
    sums = register_tensor(f32, mine, init=0)
    for i, j in mine.on(threadIdx.x):
        sums[i, j] += 1
    for i, j in mine.on(threadIdx.y):
        a[i, j] = sums[i, j]


@case("int(a[0])", "int() is of values known beforehand, not of `a[0]` (f32)", "i32(...)")
def python_int(a: f32[8]):
    n = int(a[0])


@case("printf(a[0])", "printf() takes a format first, not `a[0]` (f32)")
def format_that_is_none(a: f32[8]):
    printf(a[0])


@case("cast(a[0], float)", "a value is cast to an element type, not to a type")
def cast_to_python(a: f32[8]):
    x = cast(a[0], float)


@case("a.nosuch", "`a` (f32[8]) has no `.nosuch`")
def attribute_of_tensor(a: f32[8]):
    x = a.nosuch


@case("math.nosuch", "AttributeError: module 'math' has no attribute 'nosuch'")
def attribute_of_module(a: f32[8]):
    x = math.nosuch


@case("broken(a[0])", "TypeError: the value of `a[0]` is not known until the kernel runs; {any}")
def python_that_needs_the_value(a: f32[8]):
    x = broken(a[0])


@case("counted(3)", "TypeError: object of type 'int' has no len()")
def python_that_fails(a: f32[8]):
    x = counted(3)


@case("1 // 0", "ZeroDivisionError: integer division or modulo by zero")
def division_by_zero(a: f32[8]):
    x = 1 // 0


@case("load(3, 1)", "3 has no elements", "only tensors and pointers have")
def load_of_number(a: f32[8]):
    x = load(3, 1)


@case("v[a[0]]", "a lane of `v` (f32x4) is a number from 0 to 3, not `a[0]` (f32)", "static")
def lane_at_run_time(a: f32[8]):
    v = load(a, 0, lanes=4)
    x = v[a[0]]


@pytest.mark.parametrize(("function", "marked", "message", "help", "kind"), case)
def test_error(fails, function, marked, message, help, kind):
    fails(function, marked, message, help, kind)
