"""Records as JSON, and back."""

import json
from dataclasses import replace

import pytest

from hidet.schedules.base import AUTOMATIC, Choice
from hidet.schedules.cpu.matmul import MatmulRegisters
from hidet.tuning.record import Record, Trial, lineup_name, lineup_names, name_of

NAME = name_of(Choice("matmul_panels", MatmulRegisters(rows=6, vectors=4)))
OTHER = name_of(Choice("matmul_panels", MatmulRegisters(rows=8, vectors=3)))
RECORD = Record(2, NAME, (Trial(NAME, 1.5e-6), Trial(OTHER, None, "it crashed: SIGSEGV")))


def test_names_tell_schedule_and_point():
    assert json.loads(NAME) == ["matmul_panels", {"flip": False, "rows": 6, "vectors": 4}]
    assert json.loads(name_of(AUTOMATIC)) == ["automatic", None]


def test_a_record_comes_back_from_json():
    assert Record.from_json(json.loads(json.dumps(RECORD.to_json()))) == RECORD
    taken = replace(RECORD, imported=True)
    assert Record.from_json(json.loads(json.dumps(taken.to_json()))) == taken
    nothing = Record(0, None, ())
    assert Record.from_json(nothing.to_json()) == nothing


@pytest.mark.parametrize(
    "damage",
    [{"level": "x"}, {"level": 3}, {"trials": [[1]]}, {"trials": 7}, {"trials": [[[], -1.0, ""]]}],
)
def test_what_is_no_record_is_refused(damage):
    with pytest.raises((ValueError, TypeError)):
        Record.from_json({**RECORD.to_json(), **damage})


def test_names_of_several_candidates_together():
    name = lineup_name([NAME, None, OTHER])
    assert lineup_names(name) == [NAME, None, OTHER]
    record = Record(2, name, (Trial(name, 1.0), Trial(lineup_name([None] * 3), 2.0)))
    assert Record.from_json(json.loads(json.dumps(record.to_json()))) == record
    assert lineup_names(None) == lineup_names(NAME) == []
