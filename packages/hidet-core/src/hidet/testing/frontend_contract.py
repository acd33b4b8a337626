"""The tests that every frontend plugin must pass; a plugin subclasses this with its name."""

import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points

from hidet.frontend import API, frontend, installed

FRAMEWORKS = ("jax", "onnx", "tensorflow", "torch")


class FrontendContract:
    """Collected by pytest in a subclass `TestContract(FrontendContract)` that sets `name`."""

    name: str

    def test_is_discovered(self) -> None:
        """The plugin is found by its entry point."""
        assert self.name in installed()

    def test_speaks_this_api(self) -> None:
        """Its manifest was written for this core."""
        assert frontend(self.name).api == API

    def test_manifest_imports_no_framework(self) -> None:
        """A fresh interpreter that reads the manifest has imported no framework."""
        heavy = sorted({*FRAMEWORKS, frontend(self.name).framework})
        code = (
            "import sys; from hidet.frontend import frontend; "
            f"frontend({self.name!r}); print(*(m for m in {heavy} if m in sys.modules))"
        )
        result = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr
        assert not result.stdout.strip(), f"the manifest imports {result.stdout.strip()}"

    def test_version_is_that_of_its_distribution(self) -> None:
        """`<module>.__version__` is a string and what the installed metadata says."""
        [entry] = entry_points(group="hidet.frontends", name=self.name)
        module = import_module(f"{frontend(self.name).module}.__about__")
        assert isinstance(module.__version__, str)
        assert entry.dist is not None
        assert entry.dist.version == module.__version__
