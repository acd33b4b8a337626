"""C++ for a frontend: compiled once, and none where there is no compiler."""

from pathlib import Path

import pytest

from hidet.frontend.running import native as module
from hidet.frontend.running.native import native

SOURCE = 'extern "C" long twice(long x) { return 2 * x; }'


def test_a_function_is_compiled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HIDET_CACHE_DIR", str(tmp_path))
    compile_cpp, made = module.compile_cpp, []
    monkeypatch.setattr(module, "compile_cpp", lambda text: made.append(text) or compile_cpp(text))
    for x in (3, -4):
        library = native(SOURCE, "twice")
        assert library is not None
        assert library.twice(x) == 2 * x
    assert made == [SOURCE]


def test_there_is_none_where_nothing_compiles_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert native("no C++ at all", "nothing") is None
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert native(SOURCE + "// other", "twice") is None
