"""Kernels made from text, so that a wrong twin is the right kernel with one line changed."""

import importlib.util
import itertools
from textwrap import dedent

import pytest

HEAD = "from hidet.lang import *\nfrom hidet.lang.cuda import *\n"
NUMBERS = itertools.count()


@pytest.fixture
def variant(tmp_path):
    """`variant(text, {old: new, ...})`: the kernel of a script, with pieces of text replaced.

    The kernel's place is known by the comment `# here` that the line of interest ends with:
    `variant.line` is its number.
    """

    def build(text, changes=None):
        text = HEAD + dedent(text)
        for old, new in (changes or {}).items():
            assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
            text = text.replace(old, new)
        lines = [n for n, line in enumerate(text.splitlines(), 1) if line.endswith("# here")]
        build.line = lines[0] if lines else None
        path = tmp_path / f"kernel_{next(NUMBERS)}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.kernel.kernel

    return build
