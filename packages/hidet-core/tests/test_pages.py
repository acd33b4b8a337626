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
        "`with hidet.options.options(name=value): ...` sets options for a block, an environment",
        "variable sets one for a process: `HIDET_SEARCH_SPACE=1` is `search_space`. Options marked",
        "with \\* change generated code, and enter the key of the compile cache. This page is made",
        "from `hidet.options` (`pytest --update-golden`).",
        "",
        "| option | default | what it does |",
        "|---|---|---|",
    ]
    for name, option in OPTIONS.items():
        assert option.environment == f"HIDET_{name.upper()}"
        marked = f"`{name}` \\*" if option.affects_code else f"`{name}`"
        lines.append(f"| {marked} | `{option.default!r}` | {option.doc} |")
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
SOURCES = DOCS.parent / "packages"
FOLDERS = {p.parent: p.read_text() for p in sorted(SOURCES.glob("*/src/**/README.md"))}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_readme_of_a_folder_names_only_files_that_exist(folder):
    core = Path(hidet.__file__).parent
    plugin = SOURCES.parent / Path(*folder.relative_to(SOURCES.parent).parts[:4])
    named = set(re.findall(r"`((?:\w+/)*\w+\.py)`", FOLDERS[folder]))
    here = {p.relative_to(r).as_posix() for r in (core, plugin) for p in r.rglob("*.py")}
    missing = [n for n in named if not any(f"/{each}".endswith(f"/{n}") for each in here)]
    assert not missing


def test_the_architecture_leads_to_the_readme_of_every_folder():
    root = Path(hidet.__file__).parent
    folders = {each.parent for each in root.glob("*/__init__.py")}
    folders |= {*SOURCES.glob("*/src/hidet_*")}
    assert folders - set(FOLDERS) == set()
    links = {(DOCS / each).parent.resolve() for each in re.findall(r"\]\((.+?\.md)", ARCHITECTURE)}
    for folder, text in FOLDERS.items():  # a folder within another is told of there
        links |= {(folder / each).parent.resolve() for each in re.findall(r"\]\((\w.+?\.md)", text)}
    assert set(FOLDERS) - links == set()


def test_the_readme_of_the_passes_names_every_pass():
    text = FOLDERS[Path(hidet.__file__).parent / "passes"]
    assert {each.name for each in (*CUDA, *CPU) if f"`{each.name}`" not in text} == set()


def test_architecture_has_the_layers_of_the_import_contract():
    """Lowest first there; parentheses are for layers that may be missing."""
    contracts = import_contracts()
    plain = [re.sub(r"[()]", "", each) for each in reversed(contracts[0]["layers"])]
    assert "\n".join(["```", *plain, "```"]) in ARCHITECTURE


def test_architecture_names_every_import_contract():
    names = [f"- {each['name']}" for each in import_contracts()[1:]]
    assert "\n".join(names) in ARCHITECTURE


def import_contracts():
    settings = tomllib.loads((DOCS.parent / "pyproject.toml").read_text())
    return settings["tool"]["importlinter"]["contracts"]


def test_what_the_reference_names_is_there():
    """mkdocs would find out too, but in a session of its own."""
    pages = (DOCS / "reference").glob("*.md")
    named = [
        line[4:]
        for page in pages
        for line in page.read_text().splitlines()
        if line.startswith("::: hidet.")
    ]
    assert len(named) > 20
    missing = [name for name in named if not is_there(name)]
    assert not missing


def is_there(name):
    module, _, attribute = name.rpartition(".")
    try:
        return hasattr(import_module(module), attribute) or bool(import_module(name))
    except ModuleNotFoundError:
        return False
