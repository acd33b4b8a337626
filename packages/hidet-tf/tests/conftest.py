"""Where TensorFlow is not there, for want of a wheel, these tests are not collected."""

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # modules that tests share lie beside them
os.environ |= {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
HAS_TENSORFLOW = find_spec("tensorflow") is not None
NEEDS_NONE = ("test_contract.py",)
"""Files that skip what needs TensorFlow themselves."""


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Files of tests that import TensorFlow are passed over without it, and folders of them, whose
    own conftest does."""
    name = collection_path.name
    is_test = name.startswith("test_") and name.endswith(".py") and name not in NEEDS_NONE
    is_inside = collection_path.is_dir() and Path(__file__).parent in collection_path.parents
    return True if (is_test or is_inside) and not HAS_TENSORFLOW else None


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What earlier runs compiled helps no test, and the user's own cache is left alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HIDET_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
