"""Every error has a code, and survives the way to another process."""

import pickle

import pytest

from hidet.errors import BadArgument, HidetError, Place, every_kind


@pytest.mark.parametrize("kind", every_kind(), ids=lambda kind: kind.__name__)
def test_every_kind_pickles(kind):
    inner = Place("lib.py", 3, 4, 9, "inner", called_from=Place("main.py", 7))
    error = kind("no good", place=inner, help="do better")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert (again.message, again.place, again.help) == ("no good", inner, "do better")
    assert str(again) == str(error)


def test_codes_are_distinct_and_every_kind_is_documented():
    kinds = every_kind()
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert all(kind.__doc__ for kind in kinds)


def test_kinds_are_also_what_python_would_raise():
    assert issubclass(BadArgument, ValueError)
    assert isinstance(BadArgument("x"), HidetError)
