from pathlib import Path

from ci.budget import sizes


def test_files_and_functions_are_measured_at_any_depth():
    nested = "def outer():\n    def inner():\n        return 1\n    return inner\n"
    source = nested + "\n\nclass A:\n    async def method(self):\n        pass\n"
    found = {size.where: size.lines for size in sizes(Path("a.py"), source)}
    assert found == {"a.py": 9, "a.py:1 outer": 4, "a.py:2 inner": 2, "a.py:8 method": 2}


def test_an_empty_file_has_no_lines():
    assert [size.lines for size in sizes(Path("a.py"), "")] == [0]
