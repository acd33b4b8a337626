import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hidet.errors import FrontendMismatch, FrontendMissing
from hidet.frontend import API, Frontend, frontend, installed, load

Install = Callable[..., Path]


def write(folder: Path, module: str, **fields: object) -> None:
    """A plugin's module with a manifest that differs from a good one in `fields`."""
    values = {"name": module, "api": API, "module": module, "framework": module, **fields}
    body = f"from hidet.frontend import Frontend\nFRONTEND = Frontend(**{values!r})\n"
    (folder / f"{module}.py").write_text(body)


@pytest.mark.usefixtures("toy")
def test_a_third_party_plugin_is_found_and_loaded() -> None:
    expected = Frontend(
        "toy", 2, "hidet_toy", "numpy", "numpy>=1.26", host_steps="hidet_toy.steps:steps"
    )
    assert frontend("toy") == expected
    assert installed()["toy"] == expected
    assert load("toy").__version__ == "0.1.0"


@pytest.mark.usefixtures("toy")
def test_a_missing_frontend_says_what_is_there_and_what_to_install() -> None:
    with pytest.raises(FrontendMissing, match=r"no frontend 'jax' .*toy") as caught:
        frontend("jax")
    assert caught.value.code == "frontend-missing"
    assert caught.value.help == "pip install hidet-jax"


@pytest.mark.parametrize(
    ("api", "remedy"), [(API + 6, "--upgrade hidet-core"), (API - 1, "--upgrade hidet-old")]
)
def test_another_api_names_both_distributions_and_both_numbers(
    install: Install, api: int, remedy: str
) -> None:
    module = f"plugin_of_api_{api}"
    folder = install("hidet-old", {module: f"{module}:FRONTEND"}, "3.4")
    install("hidet-core", {}, "0.1.7")
    write(folder, module, api=api)
    with pytest.raises(FrontendMismatch) as caught:
        frontend(module)
    message = str(caught.value)
    assert f"hidet-old 3.4 was written for frontend API {api}" in message
    assert f"hidet-core 0.1.7 has frontend API {API}" in message
    assert remedy in (caught.value.help or "")


def test_two_plugins_of_one_name_are_both_named_and_disturb_no_other(
    install: Install, toy: None
) -> None:
    install("hidet-first", {"twin": "first:FRONTEND"}, "1.0")
    install("hidet-second", {"twin": "second:FRONTEND"}, "2.0")
    with pytest.raises(FrontendMismatch, match=r"hidet-first 1\.0 and hidet-second 2\.0"):
        frontend("twin")
    assert frontend("toy").name == "toy"


def test_a_manifest_of_another_name_is_refused(install: Install) -> None:
    write(install("hidet-odd", {"odd": "odd_plugin:FRONTEND"}), "odd_plugin")
    with pytest.raises(FrontendMismatch, match=r"hidet-odd .* announces a frontend 'odd'"):
        frontend("odd")


@pytest.mark.parametrize("value", ["gone:FRONTEND", "pathlib:FRONTEND"])
def test_a_manifest_that_cannot_be_imported_is_named(install: Install, value: str) -> None:
    install("hidet-gone", {"gone": value}, "2.0")
    with pytest.raises(FrontendMismatch, match=r"hidet-gone 2.0 .* cannot be imported") as caught:
        installed()
    assert "--force-reinstall hidet-gone" in (caught.value.help or "")


@pytest.mark.parametrize(
    ("version", "accepted"), [("2.9", False), ("3.0+cpu", True), ("3.2.dev1", True), ("4.0", False)]
)
def test_the_framework_version_is_compared_with_the_range(
    install: Install, version: str, accepted: bool
) -> None:
    module = "plugin_with_range"
    write(
        install("hidet-range", {module: f"{module}:FRONTEND"}), module, requires="someframe>=3,<4"
    )
    install("someframe", {}, version)
    if accepted:
        assert load(module).FRONTEND.requires == "someframe>=3,<4"
        return
    with pytest.raises(FrontendMismatch, match=r"hidet-range .*someframe>=3,<4") as caught:
        load(module)
    assert version in str(caught.value)


def test_an_absent_framework_is_said_before_anything_is_imported(install: Install) -> None:
    module = "plugin_without_framework"
    write(
        install("hidet-absent", {module: f"{module}:FRONTEND"}), module, requires="nowhere-found>=1"
    )
    with pytest.raises(FrontendMissing, match=r"hidet-absent .* needs nowhere-found>=1") as caught:
        load(module)
    assert caught.value.help == "pip install 'nowhere-found>=1'"


def test_listing_imports_no_framework() -> None:
    code = (
        "import sys; from hidet.frontend import installed; installed(); "
        "print([m for m in ('numpy', 'torch', 'onnx', 'tensorflow') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.strip() == "[]"
