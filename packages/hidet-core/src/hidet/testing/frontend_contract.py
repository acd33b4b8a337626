"""The tests that every frontend plugin must pass; a plugin subclasses this with its name."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType
from typing import cast

import numpy as np
import pytest

import hidet
from hidet.errors import HidetError, UnsupportedOp
from hidet.frontend import API, frontend, installed
from hidet.frontend.importing.report import FallbackWarning
from hidet.options import options
from hidet.testing.compare import assert_close
from hidet.testing.frontend_author import Author
from hidet.testing.frontend_cases import CASES, Case
from hidet.types import dtype

FRAMEWORKS = ("jax", "onnx", "tensorflow", "torch")
DEVICES = ("cpu", "sim", pytest.param("cuda", marks=pytest.mark.gpu))
ROUNDING = 32
"""Units in the last place that a float32 result may be off."""
FOREIGN = Case("foreign", "fallback", lambda f, x: f.exp(f.foreign(f.tanh(x))), ((3, 5),))
SAVED = tuple(case for case in CASES if case.name in ("perceptron", "padded", "flat"))


@contextmanager
def on(device: str) -> Iterator[str]:
    """Compile for a device in this block, or for the simulator; the device where tensors are."""
    with options(target="sim" if device == "sim" else ""):
        yield "cpu" if device == "sim" else device


class FrontendContract:
    """Collected by pytest in a subclass `TestContract(FrontendContract)` that sets `name`.

    `author`, "module:Class", is what writes the framework's models, empty for a plugin that brings
    none yet. It is imported where a test needs it, so that the rest runs without the framework.
    """

    name: str
    author: str = ""
    awaited: Mapping[str, str] = MappingProxyType({})
    """Cases that the plugin does not compile yet, and why: one that it does compile is an error."""

    def writer(self) -> Author:
        """What writes the framework's models."""
        if not self.author:
            pytest.skip(f"hidet-{self.name} brings no author of models yet")
        if not find_spec(framework := frontend(self.name).framework):
            pytest.skip(f"{framework} is not installed")
        return cast(Author, resolve_name(self.author)())

    @pytest.mark.parametrize("device", DEVICES)
    @pytest.mark.parametrize("case", CASES, ids=str)
    def test_agrees_with_float64(
        self, case: Case, device: str, request: pytest.FixtureRequest
    ) -> None:
        """Every case is compiled whole, and right for all its sizes."""
        if reason := self.awaited.get(str(case)):
            mark = pytest.mark.xfail(strict=True, raises=UnsupportedOp, reason=reason)
            request.applymarker(mark)
        with on(device) as place:
            call = self.writer().compile(case, place, fallback="error")
            for number in range(1 + len(case.others)):
                inputs = case.inputs(number)
                expected = case.expected(inputs)
                found = call(*inputs)
                assert [each.shape for each in found] == [each.shape for each in expected]
                for one, other in zip(found, expected, strict=True):
                    assert_close(one, other, dtype(one.dtype), ROUNDING)

    def test_what_the_framework_runs_is_named(self) -> None:
        """An operator that the compiler lacks is run, and a warning names it."""
        author, inputs = self.writer(), FOREIGN.inputs()
        with pytest.warns(FallbackWarning, match=author.unsupported):
            found = author.compile(FOREIGN, "cpu")(*inputs)
        expected = FOREIGN.expected(inputs)
        assert_close(found[0], expected[0], dtype(found[0].dtype), ROUNDING)

    def test_what_the_framework_would_run_can_be_forbidden(self) -> None:
        """The error names it."""
        author = self.writer()
        with pytest.raises(UnsupportedOp, match=author.unsupported):
            author.compile(FOREIGN, "cpu", fallback="error")(*FOREIGN.inputs())

    @pytest.mark.parametrize("case", SAVED, ids=str)
    def test_a_file_does_what_calls_do(self, case: Case, tmp_path: Path) -> None:
        """The same bits come out."""
        call, inputs = self.writer().compile(case, "cpu"), case.inputs()
        call.save(tmp_path / "model.hidet")
        found = hidet.load(tmp_path / "model.hidet", "cpu").run(inputs)
        for one, other in zip(found, call(*inputs), strict=True):
            np.testing.assert_array_equal(one.numpy(), other)

    def test_bad_input_is_an_error_and_loses_nothing(self) -> None:
        """Wrong sizes, axes and types are said, and the next call is right."""
        case = next(each for each in CASES if each.name == "perceptron")
        call, (x,) = self.writer().compile(case, "cpu"), case.inputs()
        for wrong in (x[:, 1:], x[0], x.astype(np.int32)):
            with pytest.raises(HidetError):
                call(wrong)
        (found,) = call(x)
        assert_close(found, case.expected([x])[0], dtype(found.dtype), ROUNDING)

    def test_is_discovered(self) -> None:
        """The plugin is found by its entry point."""
        assert self.name in installed()

    def test_what_is_awaited_is_a_case(self) -> None:
        """No case that is gone is waited for."""
        assert self.awaited.keys() <= {*map(str, CASES)}

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
