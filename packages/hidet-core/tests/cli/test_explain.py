"""`hidet explain`; the `wheels` session runs this file where there are no sources."""

import sys

import pytest

from hidet.cli.explain import section
from hidet.cli.main import main
from hidet.cli.markdown import shown
from hidet.errors import every_kind

PAGE = """## a-code

What *it* is, and `what to do`
about it.

```python
def f():

    return 1
#> a-code: what
```

After.
"""


def test_a_code_is_explained_by_its_whole_section(capsys):
    assert main(["explain", "bad-script"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("bad-script\n\nA script function uses something")
    assert "write it in the language of" in out
    assert "\n        @hidet.script\n" in out
    assert "    #> bad-script: expected a number, found a set" in out
    assert out.endswith("raised as hidet.errors.kinds.BadScript < error\n")
    assert "```" not in out
    assert "\x1b" not in out


def test_every_code_is_explained(capsys):
    for kind in every_kind():
        assert main(["explain", kind.code]) == 0
        words = " ".join(capsys.readouterr().out.split())
        if kind.__module__.startswith("hidet."):
            assert " ".join(section(kind.code).partition("```")[0].split()) in words
    assert main(["explain"]) == 0
    out = capsys.readouterr().out
    assert all(kind.code in out for kind in every_kind())


def test_a_code_of_a_plugin_says_what_its_class_does():
    assert section("no-such-code") is None


def test_an_unknown_code_names_the_nearest(capsys):
    assert main(["explain", "shape-mismtch"]) == 1
    assert "did you mean shape-mismatch?" in capsys.readouterr().err


def test_plain_text_is_filled_and_code_indented():
    assert shown(PAGE, 24, styled=False).splitlines() == [
        "a-code", "",
        "What *it* is, and `what", "to do` about it.", "",
        "    def f():", "", "        return 1", "    #> a-code: what", "",
        "After.",
    ]  # fmt: skip


def test_a_terminal_shows_names_bold_and_output_dim():
    out = shown(PAGE, 40, styled=True)
    assert out.startswith("\x1b[1ma-code\x1b[0m\n\n")
    assert "\x1b[1mwhat to do\x1b[0m" in out
    assert "\x1b[2m    #> a-code: what\x1b[0m" in out


@pytest.mark.parametrize("no_color", [False, True])
def test_letters_are_styled_on_terminals_only(capsys, monkeypatch, no_color):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    if no_color:
        monkeypatch.setenv("NO_COLOR", "1")
    main(["explain", "trap"])
    assert ("\x1b" in capsys.readouterr().out) is not no_color
