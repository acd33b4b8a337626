# ruff: noqa: F841
"""What the language does not have: each error names it, and points at exactly it."""

import linecache
import math

import pytest

from hidet.errors import BadScript, DtypeMismatch, HidetError
from hidet.lang import (
    attr,
    cast,
    f16,
    f32,
    grid,
    i8,
    i32,
    load,
    printf,
    register_tensor,
    repeat,
    script,
    shared_tensor,
    spatial,
    static,
    tensor,
)
from hidet.lang.capture import capture
from hidet.lang.cuda import blockIdx, syncthreads, threadIdx
from hidet.lang.transcribe import transcribe

mine = spatial(4, 4) * repeat(2, 2)
table = [1, 2, 3]
CASES = []


def case(marked, message, help="", kind=BadScript):
    """Say how transcribing the decorated function fails; `{+2}` is two lines below its first."""

    def add(function):
        CASES.append(pytest.param(function, marked, message, help, kind, id=function.__name__))
        return function

    return add


@script
def doubled(x: f32, flag):
    y = x * 2
    return y if flag else x


@script
def early(x: f32):
    if x > 0:
        return x
    return 0.0


@script
def endless(x: f32):
    return endless(x)


def broken(x):
    return 1 if x else 2


def counted(x):
    return len(x)


@case('with open("x") as f:', "a script has no `with`")
def with_(a: f32[8]):
    with open("x") as f:
        pass


@case("try:", "a script has no `try`")
def try_(a: f32[8]):
    try:
        pass
    finally:
        pass


@case("raise ValueError", "a script has no `raise`")
def raise_(a: f32[8]):
    raise ValueError


@case("import os", "a script has no `import`")
def import_(a: f32[8]):
    import os  # noqa: F401, PLC0415


@case("def inner(): pass", "a script has no `def` inside of a function")
def inner_function(a: f32[8]):
    def inner(): pass  # fmt: skip


@case("global nosuch", "a script has no `global`")
def global_(a: f32[8]):
    global nosuch


@case("del a", "a script has no `del`")
def del_(a: f32[8]):
    del a


@case("match a:", "a script has no `match`")
def match_(a: f32[8]):
    match a:
        case _:
            pass


@case("x := 3", "a script has no assignment inside of an expression")
def walrus(a: f32[8]):
    a[(x := 3)] = 1


@case("{i for i in (1, 2)}", "a script has no set comprehension")
def set_comprehension(a: f32[8]):
    x = {i for i in (1, 2)}


@case("a[0] @ a[1]", "a script has no `@`", "mma")
def matrix_product(a: f32[8]):
    x = a[0] @ a[1]


@case("x = y = 1.0", "a script assigns one thing at a time", "two assignments")
def chained_assignment(a: f32[8]):
    x = y = 1.0


@case("nosuch", "there is no name `nosuch`")
def unknown_name(a: f32[8]):
    a[0] = nosuch


@case("threadIdy", "there is no name `threadIdy`", "did you mean `threadIdx`?")
def misspelled_name(a: f32[8]):
    a[threadIdy.x] = 0  # noqa: F821


@case("x", "`x` has a value only inside the `if` of line {+2}", "give `x` a first value before it")
def name_of_a_block_that_is_over(a: f32[8]):
    if a[0] > 0:
        x = 1.0
    a[1] = x


@case("x", "`x` is used before it has a value")
def use_before_value(a: f32[8]):
    a[0] = x  # noqa: F821
    x = 1


@case("n", "parameter `n` has no type", "n: f32[m, n]")
def parameter_without_type(a: f32[8], n):
    pass


@case("3", "the type of `a` is 3, not a type of the language", "`f32`, `~f32` or `f32[m, n]`")
def parameter_of_no_type(a: 3):
    pass


@case("1", "a script's parameters have no defaults")
def default(a: f32[8], n: i32 = 1):
    pass


@case("args: i32", "a script has plain parameters only: no `*`, `**` or `/`")
def star(a: f32[8], *args: i32):
    pass


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


@case("a", "`a` is a parameter and cannot be assigned")
def assigned_parameter(a: f32[8]):
    a = 1


@case("i", "`i` is a loop variable and cannot be assigned", "another name")
def assigned_loop_variable(a: f32[8]):
    for i in range(8):
        i += 1


@case("i", "`i` already has a value here", "another name")
def loop_variable_in_use(a: f32[8]):
    i = threadIdx.x
    for i in range(8):
        a[i] = 0


@case("table", "a loop cannot run over a list", "static(...)")
def loop_over_list(a: f32[8]):
    for i in table:
        a[i] = 0


@case("i, j", "the loop gives 3 numbers in each turn")
def wrong_number_of_loop_variables(a: f32[8]):
    for i, j in grid(2, 2, 2):
        a[i + j] = 0


@case("pass", "a script has no `else` of a loop")
def loop_else(a: f32[8]):
    for i in range(8):
        a[i] = 0
    else:
        pass


@case("break", "a loop over static items has no `break`")
def break_of_static(a: f32[8]):
    for i in static(table):
        if a[i] > 0:
            break


@case("break", "a loop over grid has no `break`")
def break_of_grid(a: f32[8]):
    for i, j in grid(2, 2):
        if a[i + j] > 0:
            break


@case("continue", "a loop over tasks has no `continue`", "an `if` around the rest")
def continue_of_tasks(a: f32[8, 8]):
    for i, j in mine.on(threadIdx.x):
        if a[i, j] > 0:
            continue


@case("1.0", "a kernel returns nothing", "tensor parameters")
def returned_value(a: f32[8]):
    return 1.0


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


@case("syncthreads()", "the right side of `and` does more than compute a value, {any}", "`if`")
def effect_in_condition(a: f32[8]):
    if a[0] > 0 and syncthreads():
        pass


@case("a[0]", "the value of this statement is not used", "assign it")
def unused_value(a: f32[8]):
    a[0]


@case("print(a[0])", "print() is not part of the language", "printf")
def python_print(a: f32[8]):
    print(a[0])


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


@case("range(0, 8, 0)", "the step of range() is zero")
def step_of_zero(a: f32[8]):
    for i in range(0, 8, 0):
        a[i] = 0


@case("doubled(1.0)", "`doubled` takes (x, flag), 1 arguments were given")
def too_few_arguments(a: f32[8]):
    a[0] = doubled(1.0)


@case("return x", "a function called by a script returns only at its end", "return it last")
def early_return(a: f32[8]):
    a[0] = early(a[0])


@case("endless(x)", "script functions call one another without end")
def recursion(a: f32[8]):
    a[0] = endless(a[0])


@case("(8, 8, 8, 8)", "cuda_grid_dim has one to three sizes, not 4")
def four_dimensions(a: f32[8]):
    attr.cuda_grid_dim = (8, 8, 8, 8)


@case("blockIdx.x", "cuda_grid_dim is `blockIdx.x`, which is known only inside of the kernel")
def grid_known_inside(a: f32[8]):
    attr.cuda_grid_dim = blockIdx.x


@case("attr.cuda_gridim", "there is no kernel attribute cuda_gridim", "mean cuda_grid_dim?")
def misspelled_attribute(a: f32[8]):
    attr.cuda_gridim = 1


@case("{def}", "a block has at most 1024 threads, not 2048")
def too_many_threads(a: f32[8]):
    attr.cuda_block_dim = 32, 64


@case("{def}", "the kernel does not say how many threads run it", "attr.cuda_block_dim")
def no_block(a: f32[8]):
    attr.cuda_grid_dim = 3


@case("{def}", "a cpu_kernel has no cuda_block_dim", "remove it")
def block_on_cpu(a: f32[8]):
    attr.func_kind = "cpu_kernel"
    attr.cuda_block_dim = 3


@case("3 < 2", "no way")
def known_assertion(a: f32[8]):
    assert 3 < 2, "no way"


def matches(found, expected, function):
    """Whether a message is the expected one; `{any}` stands for any text."""
    expected = expected.replace("{+2}", str(function.__code__.co_firstlineno + 2))
    head, _, tail = expected.partition("{any}")
    return (
        found.startswith(head)
        and found.endswith(tail)
        and ("{any}" in expected or found == expected)
    )


@pytest.mark.parametrize(("function", "marked", "message", "help", "kind"), CASES)
def test_error(function, marked, message, help, kind):
    with pytest.raises(HidetError) as caught:
        transcribe(capture(function))
    error = caught.value
    assert type(error) is kind
    assert matches(error.message, message, function), error.message
    assert help in (error.help or "")
    line = linecache.getline(error.place.file, error.place.line)
    found = line[error.place.column : error.place.end_column]
    assert found == (f"def {function.__name__}(a: f32[8]):" if marked == "{def}" else marked)
