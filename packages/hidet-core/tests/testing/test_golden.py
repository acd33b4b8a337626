from pathlib import Path

import pytest

from hidet.testing.golden import compare, golden_path


def test_path_follows_the_test():
    found = golden_path(Path("/x/tests/a/test_b.py"), "test_c[one, two]")
    assert found == Path("/x/tests/golden/a/test_b/test_c_one_two.txt")


def test_difference_fails_and_update_accepts(tmp_path):
    path = tmp_path / "deep" / "text.txt"
    with pytest.raises(pytest.fail.Exception, match="does not exist"):
        compare("one\n", path, update=False)
    compare("one\n", path, update=True)
    compare("one\n", path, update=False)
    with pytest.raises(pytest.fail.Exception, match=r"-one\n\+two"):
        compare("two\n", path, update=False)
