"""docs/names.md: each name that is said to be there is there."""

import re
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "names.md").read_text()
STATES = ("here", "as", "dropped")


def rows():
    """Each row of each table as its section, the names in it, its state, and what is said."""
    section = ""
    for line in PAGE.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ").strip("`")
        elif line.startswith("| ") and not line.startswith("| original"):
            names, state, now = (cell.strip() for cell in line.strip("|").split(" | "))
            yield section, re.findall(r"`([^`]+)`", names), state, now


def promised():
    """The dotted names that must resolve."""
    for section, names, state, now in rows():
        if state == "here":
            space = section + "." if section.startswith("hidet") else ""
            yield from (f"{space}{name}" for name in names)
        elif state == "as":
            yield re.match(r"`([\w.]+)`", now).group(1)


def found(path):
    """The thing of that dotted name."""
    root, *rest = path.split(".")
    value = import_module(root)
    for part in rest:
        if not hasattr(value, part):
            import_module(f"{value.__name__}.{part}")
        value = getattr(value, part)
    return value


@pytest.mark.parametrize("path", sorted(set(promised())))
def test_a_promised_name_is_there(path):
    needs_torch = path in ("hidet.torch", "hidet.Tensor.torch") or path.startswith("hidet_torch")
    if needs_torch and (find_spec("hidet_torch") is None or find_spec("torch") is None):
        pytest.skip("PyTorch is not installed")
    assert found(path) is not None


def test_every_row_says_what_became_of_its_names():
    seen = list(rows())
    assert len(seen) > 100
    for _, names, state, now in seen:
        assert names
        assert state in STATES
        assert bool(now) == (state != "here")
        if state == "as":
            assert re.match(r"`hidet[\w.]*`", now), now


def test_no_name_comes_twice():
    seen = [
        (section, name)
        for section, names, *_ in rows()
        for name in names
        if section.startswith("hidet")
    ]
    assert len(seen) == len(set(seen))
