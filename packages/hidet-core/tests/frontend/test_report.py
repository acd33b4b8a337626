import pytest

from hidet.errors import Place, UnsupportedOp
from hidet.frontend.importing.coverage import Coverage, Use
from hidet.frontend.importing.report import FallbackWarning, require_complete, table, warning

SORTS = tuple(
    Use("sort", Place("model.py", line, function="forward"), "no converter") for line in range(1, 6)
)
MIXED = Coverage((Use("relu"), *SORTS, Use("fft", None, "complex numbers")))


def test_table_names_every_operator_with_its_count() -> None:
    text = table(MIXED)
    assert "sort      5  left to the framework: no converter" in text
    assert "relu      1  compiled" in text
    assert "sort at model.py:1 in forward" in text
    assert "sort at 2 more places" in text
    assert text.endswith("1 uses compiled, 6 left to the framework")


def test_error_lists_all_operators_and_points_at_the_first() -> None:
    with pytest.raises(UnsupportedOp) as caught:
        require_complete(MIXED)
    assert caught.value.place == SORTS[0].place
    assert "sort (5x): no converter" in caught.value.message
    assert "fft (1x): complex numbers" in caught.value.message
    require_complete(Coverage((Use("relu"),)))


def test_warning_says_what_runs_where_and_how_to_forbid_it() -> None:
    said = warning(MIXED, "PyTorch")
    assert isinstance(said, FallbackWarning)
    assert "run in PyTorch" in str(said)
    assert "at model.py:2 in forward" in str(said)
    assert '"fallback": "error"' in str(said)
