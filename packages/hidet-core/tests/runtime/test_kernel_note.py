"""Notes on kernels in files, which may come from anywhere."""

from dataclasses import asdict

import pytest

from hidet.errors import BadArchive
from hidet.runtime.plans.kernel_note import KernelNote, read_note

NOTE = KernelNote("f", ("matmul",), "panels", ["*", "n", 7], "float32", (0, 3), ("model.py:5",))


def test_a_note_is_read_as_it_was_written():
    assert read_note(asdict(NOTE), {"n": (0, 0)}) == NOTE


@pytest.mark.parametrize(
    "wrong",
    [{"flops": "m"}, {"operators": [1]}, {"schedule": None}, {"nodes": ["x"]}, {"places": 3}],
)
def test_what_is_wrong_is_refused(wrong):
    with pytest.raises(BadArchive):
        read_note(asdict(NOTE) | wrong, {"n": (0, 0)})
    with pytest.raises(BadArchive):
        read_note({}, {})
