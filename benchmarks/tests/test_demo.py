from benchmarks.demo import failures
from benchmarks.measure.networks import Row


def test_only_hidet_makes_the_demo_fail():
    peer = Row("mlp", 1, "float32", "cpu", "inductor", failure="no compiler")
    assert failures([peer]) == []


def test_what_makes_it_fail_is_named():
    rows = [
        Row("mlp", 1, "float32", "cpu", "hidet", failure="BuildFailed: no compiler"),
        Row("bert", 1, "float32", "cpu", "hidet", compiled=7, left=2),
    ]
    assert failures(rows) == [
        "mlp: hidet failed: BuildFailed: no compiler",
        "bert: hidet left 2 operators to PyTorch",
    ]
