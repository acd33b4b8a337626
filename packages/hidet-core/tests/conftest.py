import gc
import os
import signal
import time
from contextlib import suppress

import pytest

from hidet.testing.golden import golden, pytest_addoption

__all__ = ["golden", "pytest_addoption"]

with suppress(ImportError):  # where wheels are proved there is none, nor a test that needs it
    from hypothesis import HealthCheck, settings

    # What a test finds is the same on every machine, however busy it is.
    timeless = settings(
        deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.register_profile("hidet", timeless)
    settings.load_profile("hidet")

PATIENCE = 300
"""Seconds after which something does not happen any more, on a machine however busy."""


def pytest_collection_finish():
    """Thousands of collected tests stay until the end: the collector need not look at them. It
    looks seldom, as builds let it: what kernels are made of knows no cycles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 10, 10)


@pytest.fixture(scope="module", autouse=True)
def heap_of_the_file():
    """The collector need not look at what earlier files left either: caches hold millions of
    objects, and a collection of them all takes seconds."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """A shell lets what it starts in the background ignore SIGINT, and children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_run(tmp_path_factory):
    """What earlier runs compiled helps no test, and the user's own cache is left alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HIDET_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


SHARED = [bytes([each]) for each in range(256)]


@pytest.fixture(autouse=True)
def python_as_it_was():
    """Python shares short bytes objects: whoever writes into one changes what others compute, as
    a log of one byte once did to the headers of numpy's files."""
    yield
    assert b"".join(SHARED) == bytes(range(256)), "a bytes object of Python was written to"


class Clock:
    """Stands for the module `time`: it moves on when told only."""

    def __init__(self):
        self.now = 0.0

    def sleep(self, seconds):
        self.now += seconds

    def perf_counter(self):
        return self.now

    monotonic = perf_counter


@pytest.fixture
def clock():
    """Time that passes in no machine; to be put in place of a module's `time`."""
    return Clock()


@pytest.fixture(scope="session")
def eventually():
    """Wait until a condition holds; it fails if that never happens."""

    def wait(condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, "it does not happen"
            time.sleep(0.02)

    return wait


@pytest.fixture(scope="session")
def alive():
    """Whether a process runs; one that has ended may wait for someone to ask."""
    if not os.path.isdir("/proc/self"):
        pytest.skip("looks at processes by /proc")

    def runs(pid):
        try:
            with open(f"/proc/{pid}/stat") as file:
                return file.read().rpartition(")")[2].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False

    return runs
