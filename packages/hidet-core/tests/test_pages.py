"""The pages of docs/ that repeat what the code says: each is compared with it."""

import io
import pkgutil
import re
import tomllib
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

import pytest

import hidet
from hidet.errors import every_kind
from hidet.graph.pass_context import DROPPED, PassContext
from hidet.options import OPTIONS
from hidet.passes.pipeline import CPU, CUDA

DOCS = Path(__file__).parents[3] / "docs"
ERRORS = Path(hidet.__file__).parent / "errors" / "codes.md"
for found in pkgutil.walk_packages(hidet.__path__, "hidet."):
    import_module(found.name)  # error classes live beside what raises them


def sections(page):
    """The text below each second-level heading."""
    parts = re.split(r"^## (.+)$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def own_kinds():
    return [kind for kind in every_kind() if kind.__module__.split(".")[0] == "hidet"]


def test_every_error_has_its_heading_and_no_heading_is_left_over():
    codes = [kind.code for kind in own_kinds()]
    assert len(set(codes)) == len(codes)
    assert set(sections(ERRORS.read_text())) == set(codes)


def test_the_examples_of_errors_raise_them():
    page = ERRORS.read_text()
    start = page.partition("## ")[0]
    seen = 0
    for code, text in sections(page).items():
        fences = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        if not fences or "@hidet.script" in text:
            continue  # scripts need their file: the `docs` session runs those
        out, names = io.StringIO(), {}
        with redirect_stdout(out):
            for fence in re.findall(r"```python\n(.*?)```", start, re.DOTALL) + fences:
                exec(fence, names)
        assert out.getvalue().startswith(f"{code}: "), code
        seen += 1
    assert seen >= 6


def option_page():
    """docs/options.md, from the table of options."""
    lines = [
        "# Options",
        "",
        "`with hidet.options.options(name=value): ...` sets options for a block, the environment",
        "variable for a process. Those that change generated code enter the key of the compile",
        "cache. This page is made from `hidet.options` (`pytest --update-golden`).",
        "",
        "| option | environment | default | changes code | what it does |",
        "|---|---|---|---|---|",
    ]
    for name, option in OPTIONS.items():
        changes = "yes" if option.affects_code else ""
        row = (f"`{name}`", f"`{option.environment}`", f"`{option.default!r}`", changes, option.doc)
        lines.append("| " + " | ".join(row) + " |")
    lines += [
        "",
        "## PassContext",
        "",
        '`with hidet.graph.PassContext() as context: context.set_precision("float16")` sets the',
        "same options by other names, for `hidet.graph.optimize(graph)` and what is compiled in",
        "the block.",
        "",
        "| method | what it does |",
        "|---|---|",
    ]
    for name, method in vars(PassContext).items():
        if not name.startswith("_"):
            lines.append(f"| `{name}` | {method.__doc__.splitlines()[0]} |")
    for name, reason in DROPPED.items():
        lines.append(f"| `{name}` | Not here: {reason}. |")
    return "\n".join(lines) + "\n"


def test_the_page_of_options(request):
    page = DOCS / "options.md"
    if request.config.getoption("--update-golden"):
        page.write_text(option_page())
    assert page.read_text() == option_page(), "run pytest --update-golden"


ARCHITECTURE = (DOCS / "architecture.md").read_text()
SECTIONS = {
    folder: text
    for title, text in sections(ARCHITECTURE).items()
    for folder in re.findall(r"`(\w+)/`", title)
}


@pytest.mark.parametrize("folder", SECTIONS)
def test_architecture_names_only_files_that_exist(folder):
    core = Path(hidet.__file__).parent
    plugins = DOCS.parent.glob(f"packages/*/src/{folder}")  # a plugin's section names core's too
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", SECTIONS[folder]))
    here = {p.relative_to(r).as_posix() for r in (core, *plugins) for p in r.rglob("*.py")}
    missing = [n for n in named if not any(f"/{each}".endswith(f"/{n}") for each in here)]
    assert not missing


def test_architecture_tells_of_every_folder_and_every_pass():
    root = Path(hidet.__file__).parent
    folders = {each.name for each in root.iterdir() if (each / "__init__.py").exists()}
    assert {each for each in folders if f"`{each}/`" not in ARCHITECTURE} == set()
    assert {each.name for each in (*CUDA, *CPU) if f"`{each.name}`" not in ARCHITECTURE} == set()


def test_architecture_has_the_layers_of_the_import_contract():
    """Lowest first there; parentheses are for layers that may be missing."""
    settings = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    plain = [re.sub(r"[()]", "", each) for each in reversed(layers)]
    assert "\n".join(["```", *plain, "```"]) in ARCHITECTURE
