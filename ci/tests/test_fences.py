import pytest

from ci.fences import check, fences


@pytest.fixture
def page(tmp_path):
    def write(text):
        path = tmp_path / "page.md"
        path.write_text(text)
        return path

    return write


def test_fences_share_names_and_output_is_compared(page):
    path = page("# A\n```python\nx = 2\n```\ntext\n```python\nprint(x)\n#> 2\n```\n")
    assert check(path) == (2, [])


def test_other_languages_and_silent_fences_are_left_alone(page):
    path = page("```sh\nexit 1\n```\n```python\nprint('anything')\n```\n")
    assert check(path) == (1, [])


def test_wrong_output_shows_both(page):
    number, [problem] = check(page("```python\nprint('a\\n\\nb')\n#> a\n#>\n#> c\n```\n"))
    assert number == 1
    assert "expected:\na\n\nc\nprinted:\na\n\nb" in problem


def test_an_error_points_to_the_line_of_the_page(page):
    path = page("one\ntwo\n```python\nx = 1\nraise KeyError(x)\n```\n")
    _, [problem] = check(path)
    assert f'File "{path}:4", line 5' in problem
    assert "raise KeyError(x)" in problem


def test_functions_of_a_fence_have_sources(page):
    code = "import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f).rstrip())\n"
    assert check(page(f"```python\n{code}#> def f():\n#>     return 1\n```\n")) == (1, [])


def test_an_open_fence_is_an_error():
    with pytest.raises(ValueError, match="line 2 is never closed"):
        fences("text\n```python\nx = 1\n")
