"""Creating tensors: like others, and equally spaced numbers."""

import hidet


def test_creation_like_another_tensor():
    x = hidet.randn([2, 3], "float16")
    assert hidet.zeros_like(x).dtype.name == "float16"
    assert hidet.zeros_like(x).shape == (2, 3)
    assert hidet.ones_like(x, "int32").numpy().tolist() == [[1] * 3] * 2
    assert hidet.full_like(x, 2.5).numpy().tolist() == [[2.5] * 3] * 2


def test_linspace():
    assert hidet.linspace(0, 1, 5).numpy().tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert hidet.linspace(2, 9, 1).numpy().tolist() == [2]
