"""The host's memory is asked for before a call takes any."""

import numpy as np
import pytest

from hidet import ops, symbol, trace_from
from hidet.errors import OutOfMemory
from hidet.runtime.binding import host_memory


def test_a_call_that_does_not_fit(monkeypatch):
    x = symbol(("n", 7), "float32", "cpu")
    compiled = trace_from(ops.exp(x), [x]).build()
    monkeypatch.setattr(host_memory, "installed", lambda: 100 * 7 * 4)
    assert compiled(np.zeros((100, 7), np.float32)).shape == (100, 7)
    with pytest.raises(OutOfMemory, match="a call needs"):
        compiled(np.zeros((101, 7), np.float32))


@pytest.mark.parametrize(("said", "expected"), [("1024\n", 1024), ("max\n", None), (None, None)])
def test_a_container_has_less_than_the_machine(monkeypatch, tmp_path, said, expected):
    limit = tmp_path / "memory.max"
    if said is not None:
        limit.write_text(said)
    monkeypatch.setattr(host_memory, "CONTAINER", limit)
    found = host_memory.installed.__wrapped__()
    assert found == expected if expected else found > 2**28
