import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))  # modules that tests share lie beside them
