"""Errors show the line they are about."""

from hidet.errors import BadScript, Place


def shown(tmp_path, line, column, end, **more):
    source = tmp_path / "kernel.py"
    source.write_text(f"# first\n{line}\n")
    place = Place(str(source), 2, column, end, **more)
    return str(BadScript("not in the language", place=place)).replace(str(source), "kernel.py")


def test_carets_are_under_the_columns(tmp_path):
    assert shown(tmp_path, "    y = yield x", 8, 15, function="scale") == (
        "error[bad-script]: not in the language\n"
        "  --> kernel.py:2:9 in scale\n"
        "        y = yield x\n"
        "            ^^^^^^^"
    )


def test_wide_characters_and_tabs_keep_carets_in_place(tmp_path):
    lines = shown(tmp_path, "\t名 = x", 1, 2).splitlines()
    assert lines[2:] == ["    \t名 = x", "    \t^^"]


def test_at_least_one_caret(tmp_path):
    assert shown(tmp_path, "x", 0, 0).endswith("    x\n    ^")


def test_lines_that_cannot_be_read_are_only_named():
    error = BadScript("no", place=Place("gone.py", 5, 2), help="look elsewhere")
    assert str(error) == "error[bad-script]: no\n  --> gone.py:5:3\n  help: look elsewhere"


def test_a_node_of_a_model_is_named():
    place = Place("model.onnx", 0, node="node `f/Add` (Add)")
    called = Place("model.onnx", 0, node="node `f` (local.f)", called_from=place)
    assert str(BadScript("no", place=called)) == (
        "error[bad-script]: no\n"
        "  --> model.onnx: node `f` (local.f)\n"
        "  called from\n"
        "  --> model.onnx: node `f/Add` (Add)"
    )


def test_the_way_there_is_shown(tmp_path):
    text = shown(tmp_path, "x", 0, 1, called_from=Place("main.py", 9))
    assert text.splitlines()[-2:] == ["  called from", "  --> main.py:9:1"]
