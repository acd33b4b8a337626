"""How many threads calls use: as many as PyTorch."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import os
import torch
import hidet_torch
from hidet.options import options

def helpers():
    threads = os.listdir("/proc/self/task")
    names = [open(f"/proc/self/task/{each}/comm").read() for each in threads]
    return names.count("hidet-team\\n")

def add_grown():  # on a busy machine some calls run alone
    for _ in range(500):
        compiled(x)
        if helpers() > found[-1]:
            break
    found.append(helpers())

model = torch.nn.Sequential(torch.nn.Linear(300, 300), torch.nn.GELU()).eval()
x = torch.randn(128, 300)
with torch.no_grad():
    torch.set_num_threads(1)
    compiled = hidet_torch.compile(model, x)
    compiled(x)
    found = [helpers()]
    torch.set_num_threads(3)
    torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-5)
    add_grown()
    with options(threads=4):
        add_grown()
    torch.set_num_threads(64)
    add_grown()
print(*found)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads by /proc")
def test_calls_use_as_many_threads_as_pytorch_but_no_more_than_there_are_cores(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    given = {**os.environ, "OMP_NUM_THREADS": "5", "HIDET_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, env=given)
    assert done.returncode == 0, done.stderr[-2000:]
    cores = max(5, len(os.sched_getaffinity(0)))
    least, *rest, most = map(int, done.stdout.split())
    assert (least, rest) == (0, [2, 3])
    assert 4 <= most < cores
