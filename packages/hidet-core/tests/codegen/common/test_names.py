from hidet.codegen.common.names import Names, legal
from hidet.ir.expr import Var
from hidet.types import i32


def test_names_are_unique_and_keep_their_wish():
    names = Names(["load"])
    wishes = ["i", "i", "for", "load", "x.y", "2nd", "__x", "é", ""]
    found = [names[Var(wish, i32)] for wish in wishes]
    assert found == ["i", "i_1", "for_1", "load_1", "x_y", "v2nd", "_x", "v_", "v"]


def test_one_variable_has_one_name():
    names, var = Names(), Var("i", i32)
    assert names[var] == names[var] == "i"


def test_a_number_never_meets_a_wish():
    names = Names()
    assert [names[Var(wish, i32)] for wish in ("i", "i_1", "i", "i_1")] == [
        "i",
        "i_1",
        "i_2",
        "i_1_1",
    ]


def test_reserved_beginnings_are_avoided():
    assert legal("_Upper") == "v_Upper"
    assert legal("a__b") == "a_b"


def test_names_that_headers_may_define_as_macros_are_avoided():
    names = Names()
    wishes = ("NULL", "INT_MAX", "errno", "N", "NULL")
    assert [names[Var(wish, i32)] for wish in wishes] == [
        "vNULL",
        "vINT_MAX",
        "errno_1",
        "N",
        "vNULL_1",
    ]
