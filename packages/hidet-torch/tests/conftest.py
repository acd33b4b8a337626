import sys
from importlib.util import find_spec
from pathlib import Path

# Modules that tests share lie beside them.
sys.path += [str(Path(__file__).parent), str(Path(__file__).parent / "converters")]

if find_spec("torch") is not None:  # the contract is tested without it, too
    from compiling import fresh  # noqa: F401  a fixture of every test
