"""Scripts are checked as other code is: no file switches checks off for itself."""

from pathlib import Path

import hidet


def test_no_file_switches_checks_off():
    files = Path(hidet.__file__).parent.rglob("*.py")
    assert [each.name for each in files if "# mypy:" in each.read_text(encoding="utf-8")] == []
