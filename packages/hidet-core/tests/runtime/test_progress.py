"""What a terminal shows of a compilation."""

import io
from types import SimpleNamespace

import pytest

import hidet
from hidet import ops
from hidet.options import options
from hidet.runtime import progress
from hidet.runtime.progress import COLUMNS, at_work, short


class Terminal(io.StringIO):
    """A terminal that remembers all that was written."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    found = Terminal()
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=found))
    with options(progress=True):
        yield found


def test_a_stage_is_shown_at_once_and_taken_away(terminal):
    with at_work("resnet", "lowering"):
        assert terminal.getvalue() == "\rresnet: lowering ..."
    assert terminal.getvalue().endswith("\r" + " " * len("resnet: lowering ...") + "\r")


def test_nothing_is_shown_where_nobody_looks(terminal, monkeypatch):
    with options(progress=False), at_work("resnet", "lowering"):
        pass
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    with at_work("resnet", "lowering"):
        pass
    assert terminal.getvalue() == ""


def test_long_names_fit(terminal):
    assert len(short("a" * 200)) < COLUMNS
    with at_work("a" * 200, "lowering"):
        pass
    assert max(map(len, terminal.getvalue().split("\r"))) < COLUMNS


def test_a_compilation_names_the_model_and_its_stages(terminal):
    x = hidet.symbol([3, 11])
    graph = hidet.trace_from(ops.softmax(ops.exp(x), 1))
    graph.name = "the_model"
    with options(cache=False):
        graph.build()
    said = terminal.getvalue()
    assert said.index("the_model: optimizing") < said.index("the_model: lowering")
    assert max(map(len, said.replace("\n", "\r").split("\r"))) <= COLUMNS
