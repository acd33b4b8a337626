"""Places: where something is, and who says so."""

import pytest

from hidet.errors import BadArgument, Place, at, caller_place


def test_an_error_without_a_place_gets_the_one_around_it():
    place = Place("a.py", 1)
    with pytest.raises(BadArgument) as caught, at(Place("b.py", 2)), at(place):
        raise BadArgument("no")
    assert caught.value.place is place


def test_other_exceptions_pass_through():
    with pytest.raises(KeyError), at(Place("a.py", 1)):
        raise KeyError("x")


def test_columns_count_from_one_in_text():
    assert str(Place("a.py", 3, 4)) == "a.py:3:5"


def test_the_place_of_the_caller():
    def here():
        return caller_place()

    place = here()
    assert place.file == __file__
    assert place.function == "test_the_place_of_the_caller"
