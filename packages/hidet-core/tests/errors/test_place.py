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


def test_a_file_without_lines_names_a_node():
    place = Place("model.onnx", 0, node="node `/layer.3/Conv` (Conv) in body of `Loop_7`")
    assert str(place) == "model.onnx: node `/layer.3/Conv` (Conv) in body of `Loop_7`"
    assert place.short == str(place)
    both = Place("train.py", 12, 4, node="node `StatefulPartitionedCall/add`")
    assert str(both) == "train.py:12:5: node `StatefulPartitionedCall/add`"
    assert both.short == "train.py:12: node `StatefulPartitionedCall/add`"


def test_the_place_of_the_caller():
    def here():
        return caller_place()

    place = here()
    assert place.file == __file__
    assert place.function == "test_the_place_of_the_caller"
