import torch

from benchmarks.measure.libraries import in_best_layout, set_libraries


def test_float32_stays_float32():
    set_libraries()
    assert not torch.backends.cudnn.allow_tf32
    assert not torch.backends.cuda.matmul.allow_tf32


def test_layout_is_kept_on_a_cpu():
    model, inputs = torch.nn.Conv2d(3, 4, 1), (torch.ones(1, 3, 8, 8),)
    assert in_best_layout(model, inputs) == (model, inputs)
