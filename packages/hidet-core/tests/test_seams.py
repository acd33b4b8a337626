"""Each seam leads to a function that takes what its callers give it."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

import hidet
from hidet.seams import SEAMS

SOURCES = Path(hidet.__file__).parent


def calls():
    """All `seams.call("name", ...)` in the sources: file and line, name, arguments."""
    texts = {path: path.read_text() for path in sorted(SOURCES.rglob("*.py"))}
    for path in (path for path, text in texts.items() if "seams.call" in text):
        for node in ast.walk(ast.parse(texts[path])):
            match node:
                case ast.Call(func=ast.Attribute(ast.Name("seams"), "call"), args=[name, *given]):
                    where = f"{path.relative_to(SOURCES)}:{node.lineno}"
                    yield where, ast.literal_eval(name), given, node.keywords


CALLS = list(calls())


def implementation(name):
    module, _, attribute = SEAMS[name].partition(":")
    return getattr(import_module(module), attribute)


@pytest.mark.parametrize("name", sorted(SEAMS))
def test_a_seam_resolves(name):
    assert callable(implementation(name))


@pytest.mark.parametrize(("where", "name", "given", "named"), CALLS, ids=[c[0] for c in CALLS])
def test_a_call_fits_the_implementation(where, name, given, named):
    signature = inspect.signature(implementation(name))
    if not any(isinstance(each, ast.Starred) for each in given):
        signature.bind(*given, **{each.arg: each.value for each in named})


def test_seams_go_up_only_from_where_a_caller_is():
    assert {"run_graph", "build_module", "load_operators"} <= {name for _, name, *_ in CALLS}
    assert {name for _, name, *_ in CALLS} <= set(SEAMS)
