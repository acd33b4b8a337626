"""Which graphs are tried in which process, and what is said of them."""

import json
from subprocess import CompletedProcess

import pytest

from ci import fuzz


@pytest.fixture
def tried(monkeypatch):
    """Processes that find graph 5 wrong and are ended by graph 9; the graphs of each."""
    chunks = []

    def run(command, **options):
        seed, count = (int(command[command.index(name) + 1]) for name in ("--seed", "--count"))
        chunks.append(range(seed, seed + count))
        if 9 in chunks[-1]:
            return CompletedProcess(command, -11, "", "Segmentation fault")
        wrong = [fuzz.Failure(5, "fused: wrong", "1.0 instead of 2.0", "Graph()")]
        found = [vars(each) for each in wrong if each.seed in chunks[-1]]
        printed = {"failures": found, "features": {"sizes of calls": -(-count // 2)}}
        return CompletedProcess(command, 0, f"{json.dumps(printed)}\n", "")

    monkeypatch.setattr(fuzz.subprocess, "run", run)
    return chunks


def test_what_is_wrong_is_printed_with_its_number(tried, capsys):
    assert fuzz.main(["--count", "8", "--chunk", "4"]) == 1
    said = capsys.readouterr().out
    assert "graph 5: fused: wrong: 1.0 instead of 2.0\nGraph()" in said
    assert "on cpu, fused and unfused, 8 graphs, 4 with sizes of calls: 1 wrong" in said
    assert tried == [range(4), range(4, 8)]


def test_the_graph_that_ends_its_process_is_found(tried, capsys):
    assert fuzz.main(["--seed", "8", "--count", "4", "--target", "sim"]) == 1
    said = capsys.readouterr().out
    assert "graph 9: process ended: Segmentation fault" in said
    assert "on sim, fused and unfused, 4 graphs, 2 with sizes of calls: 1 wrong" in said
    assert tried == [range(8, 12), range(8, 10), range(8, 9), range(9, 10), range(10, 12)]


def test_nothing_is_begun_when_the_time_is_over(tried, capsys):
    assert fuzz.main(["--count", "4", "--seconds", "-1"]) == 1
    assert "on cpu, fused and unfused, 0 graphs: 0 wrong" in capsys.readouterr().out
    assert not tried
