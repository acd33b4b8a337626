import torch

from benchmarks.strides import ARRAYS, main


def test_each_array_has_a_line(capsys):
    before = torch.get_num_threads()
    main(["--seconds", "0.01", "--no-network"])
    torch.set_num_threads(before)
    said = capsys.readouterr().out
    assert all(name in said for name in ARRAYS)
