"""`hidet frontends`, `ops`, `show`, `bench`: what there is, and what became of it."""

import subprocess
import sys

import pytest

import hidet
from hidet.cli.main import main
from hidet.frontend import installed
from hidet.options import options
from hidet.passes.pipeline import CPU


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HIDET_CACHE_DIR", str(tmp_path / "cache"))


def graph():
    x, w = hidet.symbol([4, 8]), hidet.randn([8, 4], seed=0)
    return hidet.trace_from(hidet.ops.relu(x @ w))


def test_frontends_are_listed(capsys):
    status = main(["frontends"])
    out = capsys.readouterr().out
    for name in installed():
        assert f"\n{name}" in f"\n{out}"
    assert installed() or "none installed" in out
    assert status == 0 or "pip install" in out


def test_operators_are_listed(capsys):
    assert main(["ops"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 100
    assert any(line.startswith("softmax ") and "exp(x) / sum(exp(x))" in line for line in lines)


def test_one_operator_is_described(capsys):
    assert main(["ops", "matmul"]) == 0
    out = capsys.readouterr().out
    assert "operands    a, b" in out
    assert "matmul_simt (cuda)" in out
    assert "automatic (cpu, cuda)" in out


def test_an_unknown_operator_names_the_nearest(capsys):
    assert main(["ops", "sofmax"]) == 1
    assert "did you mean softmax?" in capsys.readouterr().err


def test_a_dump_is_listed_shown_and_compared(capsys, tmp_path):
    with options(dump=str(tmp_path / "dump")):
        graph().build()
    assert main(["show", str(tmp_path / "dump")]) == 0
    out = capsys.readouterr().out
    guarded = f"{1 + [each.name for each in CPU].index('guard_bounds'):02}"
    assert f"{guarded}-guard_bounds" in out
    assert "00-input" in out
    (kernel,) = [each for each in (tmp_path / "dump").iterdir() if each.name != "graph"]

    assert main(["show", str(kernel), "00"]) == 0
    assert capsys.readouterr().out == (kernel / "00-scheduled.txt").read_text()

    assert main(["show", str(kernel), "00", guarded]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"--- 00-scheduled\n+++ {guarded}-guard_bounds\n")
    assert any(line.startswith("-") and ".put(" in line for line in out.splitlines())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere is no folder"),
        (["{empty}"], "holds no stages"),
        (["{empty}", "01"], "has no stage '01'"),
        (["{empty}", "1", "2", "3"], "3 stages"),
    ],
)
def test_what_cannot_be_shown(arguments, message, capsys, tmp_path):
    given = [each.replace("{empty}", str(tmp_path)) for each in arguments]
    assert main(["show", *given]) == 1
    assert message in capsys.readouterr().err


def test_a_saved_graph_is_measured(capsys, tmp_path):
    path = tmp_path / "graph.hidet"
    graph().build().save(path)
    assert main(["bench", str(path), "--repeat", "3"]) == 0
    out = capsys.readouterr().out
    assert "ms, median of 3" in out


def test_a_saved_graph_has_a_profile(capsys, tmp_path):
    path = tmp_path / "graph.hidet"
    graph().build().save(path)
    assert main(["run", str(path), "--profile", "--repeat", "2"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("us in all")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("nothing", "is no file"),
        ("json:nothing", "cannot be imported"),
        ("os:getcwd", "gives no (model, *inputs)"),
        ("platform:libc_ver", "no installed frontend takes a str"),
    ],
)
def test_what_cannot_be_measured(model, message, capsys):
    assert main(["bench", model]) == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--device", "cpu"], ["--size", "n=3"]])
def test_options_of_files_are_refused_for_models(option, capsys):
    assert main(["bench", "platform:libc_ver", *option]) == 1
    assert "are for files" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "bench"])
def test_a_size_that_the_graph_does_not_have(command, capsys, tmp_path):
    path = tmp_path / "graph.hidet"
    graph().build().save(path)
    assert main([command, str(path), "--size", "n=3"]) == 1
    out = capsys.readouterr().err
    assert "the graph has no size 'n'" in out
    assert "it has none: all are fixed" in out


def test_who_reads_may_stop_early():
    """As in `hidet ops | head`."""
    process = subprocess.Popen(
        [sys.executable, "-m", "hidet.cli", "ops"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 0
