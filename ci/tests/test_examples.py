import pytest

from ci import gallery
from ci.examples import difference, has_main, output

EXAMPLES = gallery.ROOT / "examples"


def test_main_is_looked_for_without_running():
    assert has_main("def main():\n    pass\n")
    assert not has_main("main = 1\nraise SystemExit(1)\n")


def test_an_example_that_fails_shows_its_output(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("def main():\n    raise ValueError('spam')\n\n\nmain()\n")
    assert "spam" in (output(path)[1] or "")


def test_an_example_that_runs_is_fine(tmp_path):
    path = tmp_path / "fine.py"
    path.write_text("def main():\n    print('took 3.25 ms')\n\n\nmain()\n")
    assert output(path) == ("took ... ms\n", None)


def test_the_gallery_has_every_example_and_is_written_as_its_command_writes_it():
    names = {path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("*.py")}
    assert set(gallery.shown()) == names
    assert gallery.PAGE.read_text(encoding="utf-8") == gallery.page(gallery.shown())


def test_an_output_that_the_gallery_does_not_show_is_named():
    name, text = next(iter(gallery.shown().items()))
    assert difference(name, text) is None
    assert "it prints\nspam" in (difference(name, "spam\n") or "")


@pytest.mark.parametrize(
    ("printed", "kept"),
    [
        ("eager: 430.30 ms  \n", "eager: ... ms\n"),
        ("the largest error is 1.0e-06\n", "the largest error is ...\n"),
        ("anchor a, schedule panels, Point(rows=8, flip=False)\n", "anchor a, schedule panels\n"),
        (f"at {gallery.ROOT}/examples/mlp.py:3\n", "at examples/mlp.py:3\n"),
        ("144,000 load global in 19 registers\n", "144,000 load global in 19 registers\n"),
    ],
)
def test_what_changes_from_run_to_run_is_left_out(printed, kept):
    assert gallery.steady(printed) == kept
