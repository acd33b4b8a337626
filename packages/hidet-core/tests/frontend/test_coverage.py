from hidet.errors import Place
from hidet.frontend.importing.coverage import Coverage, Use


def test_counts_and_what_is_left() -> None:
    here = Place("model.py", 3)
    coverage = Coverage((Use("relu"), Use("sort", here, "no converter"), Use("relu")))
    assert coverage.compiled == {"relu": 2}
    assert coverage.left == {"sort": [Use("sort", here, "no converter")]}
    assert not coverage.is_complete
    assert Coverage((Use("relu"),)).is_complete


def test_together_keeps_the_order() -> None:
    parts = [Coverage((Use("a"),)), Coverage((Use("b"), Use("a")))]
    assert [use.operator for use in Coverage.together(parts).uses] == ["a", "b", "a"]
