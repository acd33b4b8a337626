"""Records on disk: kept by what they depend on, exported, loaded, and not believed if damaged."""

import json
from dataclasses import replace

import pytest

from hidet.errors import BadArgument
from hidet.options import options
from hidet.tuning import TuningWarning, export, load, store
from hidet.tuning.origin import origin
from hidet.tuning.record import Record, Trial

FACTS = {"group": "matmul", "target": "sm_90a", **origin()}
OTHER = {**FACTS, "hidet": "0.0.1", "sources": "of another one"}
RECORD = Record(1, '["simt", {}]', (Trial('["simt", {}]', 2e-6), Trial('["mma", {}]', None, "no")))


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_memory", {})
    with options(cache_dir=str(tmp_path / "cache"), cache=True):
        yield


def forget(monkeypatch):
    monkeypatch.setattr(store, "_memory", {})


def test_a_record_counts_for_its_device_and_facts(monkeypatch):
    store.keep(FACTS, "H200", RECORD)
    forget(monkeypatch)
    assert store.find(FACTS, "H200") == RECORD
    assert store.find(FACTS, "A100") is None
    assert store.find({**FACTS, "target": "sm_80"}, "H200") is None
    assert store.find(FACTS, None) == RECORD  # to compile for a device that is not here


def test_devices_have_records_beside_each_other():
    store.keep(FACTS, "H200", RECORD)
    other = Record(2, None, ())
    store.keep(FACTS, "A100", other)
    assert store.known(FACTS) == {"H200": RECORD, "A100": other}


def test_without_a_cache_only_the_process_remembers(tmp_path, monkeypatch):
    with options(cache=False):
        store.keep(FACTS, "H200", RECORD)
        assert store.find(FACTS, "H200") == RECORD
        assert not store.folder().exists()
        forget(monkeypatch)
        assert store.find(FACTS, "H200") is None


def test_results_go_from_one_machine_to_another(tmp_path, monkeypatch):
    store.keep(FACTS, "H200", RECORD)
    store.keep({**FACTS, "group": "conv"}, "H200", RECORD)
    path = tmp_path / "tuned.json"
    assert export(path) == 2
    forget(monkeypatch)
    with options(cache_dir=str(tmp_path / "elsewhere")):
        assert store.find(FACTS, "H200") is None
        assert load(path) == 2
        forget(monkeypatch)
        # To be checked before it is used.
        assert store.find(FACTS, "H200") == replace(RECORD, imported=True)


def test_what_was_measured_here_is_not_overwritten_by_what_comes_from_elsewhere(tmp_path):
    path = tmp_path / "tuned.json"
    store.keep(FACTS, "H200", RECORD)
    export(path)
    better = Record(2, None, ())
    store.keep(FACTS, "H200", better)
    assert load(path) == 1
    assert store.find(FACTS, "H200") == better


def test_results_of_another_hidet_are_refused_or_left_out(tmp_path):
    path = tmp_path / "stale.json"
    old = store.entry(OTHER, {"H200": RECORD})
    path.write_text(json.dumps({"hidet_tuning": store.FORMAT, "results": [old]}))
    with pytest.raises(BadArgument, match=r"1 of 1 results in .*another hidet \(0\.0\.1; this is"):
        load(path)
    both = [old, store.entry(FACTS, {"H200": RECORD})]
    path.write_text(json.dumps({"hidet_tuning": store.FORMAT, "results": both}))
    with pytest.warns(TuningWarning, match="1 of 2 results .* left out") as said:
        assert load(path) == 1
    assert said[0].filename == __file__
    assert store.find(OTHER, "H200") is None


def test_a_file_that_is_not_there_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.json")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "\x00\xff",
        '{"hidet_tuning": 9}',
        '{"hidet_tuning": 2}',
        '{"hidet_tuning": 2, "results": [{}]}',
        '{"hidet_tuning": 2, "results": [{"facts": {}, "devices": {}}]}',
    ],
)
def test_what_is_no_export_is_refused(tmp_path, text):
    path = tmp_path / "wrong.json"
    path.write_text(text)
    with pytest.raises(BadArgument, match=r"wrong\.json"):
        load(path)


def test_nothing_of_a_file_with_one_bad_entry_is_taken_in(tmp_path):
    good = store.entry(FACTS, {"H200": RECORD})
    path = tmp_path / "half.json"
    path.write_text(json.dumps({"hidet_tuning": store.FORMAT, "results": [good, {"facts": {}}]}))
    with pytest.raises(BadArgument):
        load(path)
    assert store.find(FACTS, "H200") is None


def test_a_damaged_file_is_said_and_measured_anew(monkeypatch):
    store.keep(FACTS, "H200", RECORD)
    forget(monkeypatch)
    store.file_of(FACTS).write_text('{"facts": {')
    with pytest.warns(TuningWarning, match="is not used"):
        assert store.find(FACTS, "H200") is None
    with pytest.warns(TuningWarning, match="is not used"):
        store.keep(FACTS, "H200", RECORD)
    forget(monkeypatch)
    assert store.find(FACTS, "H200") == RECORD


def test_what_cannot_be_written_is_complained_about(tmp_path):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    with options(cache_dir=str(blocked)), pytest.warns(TuningWarning, match="not kept"):
        store.keep(FACTS, "H200", RECORD)
