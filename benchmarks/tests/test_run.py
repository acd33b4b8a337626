import json

import pytest

from benchmarks.run import main, parse


def test_naming_nothing_asks_for_everything():
    asked = parse(["--device", "cpu"])
    assert asked.networks == asked.operators == []
    assert asked.overhead
    assert asked.systems == ("eager", "hidet", "tracing alone", "inductor")


def test_unknown_networks_are_refused(capsys):
    with pytest.raises(SystemExit):
        parse(["--networks", "resnet5"])
    assert "resnet50" in capsys.readouterr().err


def test_results_are_kept_with_machine_and_commit(tmp_path):
    out = tmp_path / "new" / "mlp.json"
    asked = ["--networks", "mlp", "--systems", "eager", "--device", "cpu", "--json", str(out)]
    assert main(asked) == 0
    data = json.loads(out.read_text())
    assert data["machine"]["torch"]
    assert data["machine"]["commit"]
    assert [row["system"] for row in data["networks"]] == ["eager"]
    assert "mlp, float32, batch 1" in out.with_suffix(".md").read_text()
