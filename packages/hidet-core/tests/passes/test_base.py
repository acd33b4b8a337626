"""Passes run in order, and what they remove stays away."""

from dataclasses import replace

import pytest

from hidet.errors import InternalError
from hidet.ir.expr import Var
from hidet.ir.kernel import Kernel
from hidet.ir.stmt import Break, Return
from hidet.passes.base import kernel_pass, run, with_body
from hidet.types import f32

KERNEL = Kernel("k", (Var("x", f32[4]),), (Break(), Return()))


@kernel_pass(removes=(Break,))
def no_breaks(kernel):
    """Drop breaks."""
    return replace(kernel, body=tuple(s for s in kernel.body if not isinstance(s, Break)))


@kernel_pass()
def bad(kernel):
    return replace(kernel, body=(*kernel.body, Break()))


@kernel_pass(removes=(Return,))
def lazy(kernel):
    return kernel


def test_a_pass_has_the_name_and_text_of_its_function():
    assert (no_breaks.name, no_breaks.removes) == ("no_breaks", (Break,))
    assert no_breaks.__doc__ == "Drop breaks."
    assert [type(s) for s in no_breaks(KERNEL).body] == [Return]


def test_observers_see_each_pass_with_its_result():
    seen = []
    out = run(KERNEL, [no_breaks], [lambda each, kernel: seen.append((each.name, kernel))])
    assert seen == [("no_breaks", out)]


def test_a_pass_that_does_not_keep_its_word_is_named():
    with pytest.raises(InternalError, match="'lazy' left a Return behind in k"):
        run(KERNEL, [lazy])


def test_a_pass_that_brings_back_what_is_gone_is_named():
    with pytest.raises(InternalError, match="'bad' left a Break behind"):
        run(KERNEL, [no_breaks, bad])


def test_the_same_body_is_the_same_kernel():
    assert with_body(KERNEL, tuple(KERNEL.body)) is KERNEL
    assert with_body(KERNEL, KERNEL.body[:1]) is not KERNEL
