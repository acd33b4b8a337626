# ruff: noqa: F841
"""What the language does not have: each error names it, and points at exactly it."""

import pytest

from hidet.lang import (
    attr,
    f32,
    grid,
    i32,
    repeat,
    script,
    spatial,
    static,
)
from hidet.lang.cuda import blockIdx, syncthreads, threadIdx

from .mistakes import Mistakes

mine = spatial(4, 4) * repeat(2, 2)

table = [1, 2, 3]

case = Mistakes()


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


@case("i, j", "the loop gives 3 numbers in each iteration")
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


@case("syncthreads()", "the right side of `and` does more than compute a value, {any}", "`if`")
def effect_in_condition(a: f32[8]):
    if a[0] > 0 and syncthreads():
        pass


@case("a[0]", "the value of this statement is not used", "assign it")
def unused_value(a: f32[8]):
    a[0]


@case("print(a)", "a printed value is `a` (f32[8]), not a number", "index it first")
def python_print(a: f32[8]):
    print(a)


@case("range(0, 8, 0)", "the step of range() is zero")
def step_of_zero(a: f32[8]):
    for i in range(0, 8, 0):
        a[i] = 0


@case("doubled(1.0)", "`doubled` takes (x, flag); arguments given: 1")
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


@case("32, 64", "a block has at most 1024 threads, not 2048")
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


@pytest.mark.parametrize(("function", "marked", "message", "help", "kind"), case)
def test_error(fails, function, marked, message, help, kind):
    fails(function, marked, message, help, kind)
