"""`hidet bench`: a table of what runs a model, and whose mistakes are whose."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from hidet.cli import bench_model, example
from hidet.cli.bench_table import BAR, Measured, bar, difference, table
from hidet.cli.main import main
from hidet.errors import BadArgument

USER = """
import numpy as np

class Model:
    def __call__(self, x):
        return x + 1.0

def make():
    return Model(), np.zeros(7, np.float32)

class Broken(Model):
    def __call__(self, x):
        return helper()

def broken():
    return Broken(), np.zeros(7, np.float32)

def wrong():
    return helper()

def helper():
    raise ValueError("a mistake of the user's")

def nothing():
    return 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module of the user's, in the current folder."""
    (tmp_path / "user_model.py").write_text(USER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield "user_model"
    sys.modules.pop("user_model", None)


def broken(x):
    raise RuntimeError("no")


@pytest.fixture
def frontend(monkeypatch):
    """A frontend for the user's models, beside which one program runs and another does not."""
    manifest = SimpleNamespace(framework="user_model", beside_model="somewhere")
    monkeypatch.setattr(bench_model, "installed", lambda: {"user": manifest})
    compile = lambda model, *inputs: lambda x: x + 1.5
    monkeypatch.setattr(bench_model, "load", lambda name: SimpleNamespace(compile=compile))
    systems = lambda model: {"eager": model, "inductor": broken}
    monkeypatch.setattr(bench_model, "resolve_name", lambda name: systems)


def test_a_model_is_measured_beside_its_framework(module, frontend, capsys, monkeypatch):
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    assert main(["bench", f"{module}:make", "--repeat", "3"]) == 0
    told, head, lines = capsys.readouterr().out.split("\n", 2)
    assert told == "inductor does not run it: no"
    assert head == "Model on cpu, 3 calls in turns; errors beside eager"
    _, eager, hidet = lines.strip().splitlines()
    assert eager.split()[:1] == ["eager"]
    assert "1.00x" in eager
    assert "0.0e+00" in eager
    assert hidet.split()[:1] == ["hidet"]
    assert "5.0e-01" in hidet


@pytest.mark.parametrize(("function", "frame"), [("wrong", "in wrong"), ("broken", "in __call__")])
def test_a_mistake_of_the_users_shows_the_users_frames(module, frontend, capsys, function, frame):
    with pytest.raises(SystemExit, match="1"):
        main(["bench", f"{module}:{function}"])
    said = capsys.readouterr().err
    assert "ValueError: a mistake of the user's" in said
    assert said.count('File "') == 2
    assert frame in said
    assert "hidet/cli" not in said


@pytest.mark.parametrize(("running", "told"), [(1.0, ""), (99.0, "99.0 processes run on 4 cores")])
def test_a_busy_machine_is_said(module, frontend, capsys, monkeypatch, running, told):
    monkeypatch.setattr("os.getloadavg", lambda: (running, 0.0, 0.0))
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    main(["bench", f"{module}:make", "--repeat", "1"])
    first = capsys.readouterr().out.splitlines()[0]
    assert first.endswith(told)
    assert ("busy" in first) == bool(told)


def test_what_is_not_there_is_told(module):
    for name, words in {
        f"{module}:other": "has no 'other'",
        "no_such_module:make": "no module 'no_such_module'",
        f"{module}:nothing": r"gives no \(model, \*inputs\)",
        f"{module}.py:model": rf"name the module: {module}:model",
        module: "is no file",
    }.items():
        with pytest.raises(BadArgument, match=words):
            example.example(name)


def test_a_table_fits_eighty_columns_and_says_how_much_faster():
    rows = [Measured("eager", 0.5, [np.ones(3)], [4.0, 2.0, 3.0])]
    rows.append(Measured("hidet", 12.0, [np.full(3, 1.25)], [1.5]))
    lines = list(table(rows, [np.ones(3)]))
    assert max(map(len, lines)) <= 80
    assert lines[1].split() == ["eager", "3.000", "1.00x", "0.0e+00", "0.5", "█" * BAR]
    assert lines[2].split() == ["hidet", "1.500", "2.00x", "2.5e-01", "12.0", "█" * (BAR // 2)]


def test_bars_and_differences():
    assert bar(0.0) == ""
    assert bar(1 / (8 * BAR)) == "▏"
    assert bar(1.0) == "█" * BAR
    assert difference([np.array([1.0, 4.0])], [np.array([1.0, 5.0])]) == pytest.approx(0.2)
    assert difference([np.zeros(0)], [np.zeros(0)]) == 0.0
