import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

# Modules that tests share lie beside them.
sys.path += [str(Path(__file__).parent), str(Path(__file__).parent / "converters")]

if find_spec("torch") is not None:  # the contract is tested without it, too
    from compiling import fresh  # noqa: F401  a fixture of every test


@pytest.fixture(scope="session", autouse=True)
def cache_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What earlier runs compiled helps no test, and the user's own cache is left alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HIDET_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
