import signal

import pytest

from hidet.runtime.launchable import share_team
from hidet.testing.golden import golden, pytest_addoption

__all__ = ["golden", "pytest_addoption"]


@pytest.fixture(scope="session", autouse=True)
def openmp():
    """Tests load compiled C++ by hand too; its OpenMP calls need the process's runtime."""
    share_team()


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """A shell lets what it starts in the background ignore SIGINT, and children inherit that."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
