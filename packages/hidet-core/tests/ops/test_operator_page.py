"""docs/reference-operators.md: every operator with its signature, its meaning and its formula.

The page is made from signatures, docstrings and definitions: `pytest --update-golden` writes it.
"""

import inspect
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from hidet import ops, seams
from hidet.compute import Computed, Definition, Scan, Scatter
from hidet.compute.grid import scope
from hidet.compute.inline import inline
from hidet.graph.operator import OPERATORS
from hidet.ir.walk import postorder

PAGE = Path(__file__).parents[4] / "docs" / "reference-operators.md"
LINES, WIDTH = 5, 110  # longer formulas say less than the sentence above them
HEAD = """\
# Operators: signatures and formulas

All functions of `hidet.ops`, by family. They run at once on tensors that have values, and make a
graph of symbolic ones. A formula says what each element is, for the operands and attributes in its
first line: `out` is the result (`out0` and `out1` are two), `t0` and `t1` are values on the way to
it, and `sum(r0 < 33: e)` adds up `e` for each `r0` below 33. It is the operator's own definition,
from which kernels are made. A function without a formula is made of others, or its formula is long.

This page is made from signatures, docstrings and definitions (`pytest --update-golden`)."""


class Plain:
    """An annotation that is shown as it is written."""

    def __init__(self, annotation):
        self.text = annotation if isinstance(annotation, str) else repr(annotation)

    def __repr__(self):
        return self.text


def signature(function):
    """The signature as it is written, with `Tensor` left out: most operands are tensors."""
    found = inspect.signature(function)
    params = [
        each.replace(annotation=each.empty)
        if each.annotation in ("Tensor", each.empty)
        else each.replace(annotation=Plain(each.annotation))
        for each in found.parameters.values()
    ]
    return str(found.replace(parameters=params, return_annotation=found.empty))


def formula(kind):
    """The definition of the operator's first sample, a line for each stage."""
    op = next(iter(kind.samples()))
    if op.kind != "kernels":
        return []  # control flow has bodies instead
    lines = [str(op), *stages(inline(op.definition()))]
    return lines if len(lines) <= LINES and max(map(len, lines)) <= WIDTH else []


def stages(definition: Definition):
    """What each stage computes, by names."""
    outputs = definition.outputs
    names = ["out"] if len(outputs) == 1 else [f"out{number}" for number in range(len(outputs))]
    result, done, lines = dict(zip(outputs, names, strict=True)), {}, []
    for node in postorder(definition.outputs):
        changed = node.map_children(done.__getitem__)
        if isinstance(changed, Computed | Scan | Scatter):
            name = result.get(node) or f"t{len(lines) - len(result.keys() & done.keys())}"
            index = ", ".join(var.name for var in getattr(changed, "vars", ()))
            meaning = computed(changed) if isinstance(changed, Computed) else changed
            lines.append(f"{name}[{index}] = {meaning}" if index else f"{name} = {meaning}")
            changed = replace(changed, name=name)
        done[node] = changed
    return lines


def computed(grid):
    """The element of a grid at its variables, which have no number behind their names."""
    return scope(grid.vars, grid.shape, grid.value)[1].expr(grid.value)


def entry(name):
    """The section of one function."""
    function = getattr(ops, name)
    lines = ["", f"### {name}", "", f"`{name}{signature(function)}`", ""]
    lines += inspect.getdoc(function).splitlines()
    found = formula(OPERATORS[name]) if name in OPERATORS else []
    return [*lines, "", "```text", *found, "```"] if found else lines


def page():
    """The page: families are the folders of `hidet.ops`, and what is alike in one its modules."""
    seams.call("load_operators")
    families = {}
    for name in sorted(ops.__all__):
        module = inspect.getmodule(getattr(ops, name))
        folder = families.setdefault(import_module(module.__package__), {})
        folder.setdefault(module, []).append(name)
    lines = [HEAD]
    for folder, modules in sorted(families.items(), key=lambda each: each[0].__name__):
        lines += ["", f"## {title(folder)}"]
        for module in sorted(modules, key=lambda each: each.__name__):
            lines += ["", f"*{title(module)}*"]
            lines += [line for name in modules[module] for line in entry(name)]
    return "\n".join(lines) + "\n"


def title(module):
    """The first line of a module's docstring."""
    return inspect.getdoc(module).splitlines()[0].rstrip(".:")


def test_the_page_is_what_the_code_says(request):
    made = page()
    if request.config.getoption("--update-golden"):
        PAGE.write_text(made, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == made, "run pytest --update-golden"


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("matmul", ["out[i0, i1] = sum(r0 < 33: (a[i0, r0] * b[r0, i1]))"]),
        ("relu", ["out[i0, i1] = (0.0 if (x[i0, i1] <= 0.0) else x[i0, i1])"]),
    ],
)
def test_a_formula_is_the_definition_of_the_first_sample(name, lines):
    seams.call("load_operators")
    assert formula(OPERATORS[name])[1:] == lines


def test_a_signature_is_as_it_is_written():
    assert signature(ops.gelu) == "(x, approximate: Literal['none', 'tanh'] = 'none')"
