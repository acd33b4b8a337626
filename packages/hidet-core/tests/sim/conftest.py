"""Kernels made from text, so that a wrong twin is the right kernel with one line changed."""

import linecache

import pytest
from written import written


@pytest.fixture
def variant():
    """`variant(text, {old: new, ...})`: the kernel of a script, with pieces of text replaced.

    The kernel's place is known by the comment `# here` that the line of interest ends with:
    `variant.line` is its number.
    """

    def build(text, changes=None):
        kernel = written(text, changes).kernel
        lines = linecache.getlines(kernel.place.file)
        marked = [n for n, line in enumerate(lines, 1) if line.rstrip().endswith("# here")]
        build.line = marked[0] if marked else None
        return kernel

    return build
