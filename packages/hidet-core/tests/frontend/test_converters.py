import pytest

from hidet.errors import BadArgument
from hidet.frontend.importing.converters import Converters


def test_rows_and_functions_are_found_by_key() -> None:
    table: Converters[str] = Converters("toy")
    table.rows({"Abs": abs})

    @table("Add", "Plus")
    def add(x: int, y: int) -> int:
        return x + y

    assert table.find("Abs") is abs
    assert table.find("Plus") is add
    assert table.find("Sub") is None
    assert set(table) == {"Abs", "Add", "Plus"}
    assert len(table) == 3
    assert "Sub" not in table


def test_two_converters_of_one_operator_are_refused_with_both_names() -> None:
    table: Converters[str] = Converters("toy")
    table.rows({"Abs": abs})
    with pytest.raises(BadArgument, match=r"toy converts Abs by builtins.abs and by builtins.pow"):
        table.rows({"Abs": pow})
    assert table.find("Abs") is abs
