"""Where source comes from, and that places are true."""

import linecache
from textwrap import dedent

import pytest

from hidet.errors import BadScript
from hidet.lang.capture import capture
from hidet.lang.script import script

HEAD = "from hidet.lang import attr, f32, i32, script\n"
KERNEL = """\
@script
def kernel(a: f32[8]):
    attr.cuda_block_dim = 32
    a[0] = 1
"""


def run(text, file, names=None, known=True):
    """Execute text as a notebook does: it has no file, but `linecache` knows it."""
    if known:
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names = {} if names is None else names
    exec(compile(text, file, "exec"), names)
    return names


def test_a_notebook_cell():
    kernel = run(HEAD + KERNEL, "<cell 1>")["kernel"].kernel
    assert (kernel.place.file, kernel.place.line) == ("<cell 1>", 3)
    assert kernel.body[0].place.line == 5


def test_text_without_source_is_refused():
    with pytest.raises(BadScript, match="the source of `kernel` cannot be read") as caught:
        run(HEAD + KERNEL, "<text>", known=False)
    assert "exec()" in caught.value.help


def test_postponed_annotations():
    text = dedent("""\
        from __future__ import annotations
        from hidet.lang import attr, f32, script

        def make(m, n):
            @script
            def kernel(a: f32[m, n], b: "f32[n]"):
                attr.cuda_block_dim = 32
                x: f32 = 1
                a[0, 0] = x
            return kernel

        kernel = make(3, 4)
        """)
    params = run(text, "<cell 2>")["kernel"].kernel.params
    assert [str(param.of) for param in params] == ["f32[3, 4]", "f32[4]"]


def test_columns_count_characters():
    text = (
        HEAD + "@script\ndef größe(ä: f32[8]):\n    attr.cuda_block_dim = 32\n    ä[0] = nichts\n"
    )
    with pytest.raises(BadScript) as caught:
        run(text, "<cell 3>")
    place = caught.value.place
    assert (place.line, place.column, place.end_column) == (5, 11, 17)
    assert str(caught.value) == dedent("""\
        error[bad-script]: there is no name `nichts`
          --> <cell 3>:5:12 in größe
                ä[0] = nichts
                       ^^^^^^
          help: import it or define it above""")


def test_an_indented_function_has_its_true_columns():
    def kernel(a):
        pass

    source = capture(kernel)
    place = source.place(source.tree.body[0])
    line = linecache.getline(place.file, place.line)
    assert line[place.column : place.end_column] == "pass"
    assert place.function == "kernel"


def test_only_functions_are_scripts():
    with pytest.raises(BadScript, match="a script is a Python function"):
        script(3)
    with pytest.raises(BadScript, match="a script is written as `def`"):
        script(
            lambda x: x,
        )
