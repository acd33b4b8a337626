import sys
from pathlib import Path

# Modules that tests share lie beside them.
sys.path += [str(Path(__file__).parent), str(Path(__file__).parent / "converters")]
