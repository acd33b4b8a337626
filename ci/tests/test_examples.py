from ci.examples import check, has_main


def test_main_is_looked_for_without_running():
    assert has_main("def main():\n    pass\n")
    assert not has_main("main = 1\nraise SystemExit(1)\n")


def test_an_example_that_fails_shows_its_output(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("def main():\n    raise ValueError('spam')\n\n\nmain()\n")
    assert "spam" in (check(path) or "")


def test_an_example_that_runs_is_fine(tmp_path):
    path = tmp_path / "fine.py"
    path.write_text("def main():\n    pass\n\n\nmain()\n")
    assert check(path) is None
