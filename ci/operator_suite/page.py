"""`docs/operators.md`: which of PyTorch's operators are not compiled, and why."""

from __future__ import annotations

from collections import Counter, defaultdict

from ci.operator_suite.known import NO_GRAPH, UNJUDGED, VERSION
from ci.suites.known import Known

HEAD = """# PyTorch operators

PyTorch {version} has samples of {every} operators (`op_db`), with which it tests itself. Each was
compiled by `torch.compile(backend="hidet")` for a CPU, in float32 and float16, three calls of each,
and compared with eager PyTorch and with float64. `python -m ci.operator_suite --record` writes this
page; tests compile some of the operators and fail if one became worse.

| operators | of {every} | share |
|---|---|---|
| right | {right} | {right_share:.1%} |
| not to be judged on a CPU | {unjudged} | {unjudged_share:.1%} |
| right, and nothing left to PyTorch | {compiled} | {compiled_share:.1%} |
| the same, of the {graphs} that `torch.compile` makes a graph of | {compiled} | {graph_share:.1%} |

Operators that draw random numbers count here as left: their numbers are those of PyTorch's own
generator, which a model for inference does not draw. Checks that raise by values (for singular
matrices, for lengths of segments) run between kernels, and count as nothing left.

"""
WRONG = """## Not right

| operator | what is wrong |
|---|---|
{rows}

"""
LEFT = """## Left to PyTorch

These run in PyTorch, with one warning, and what is around them is compiled: see
[What is not compiled](pytorch.md#what-is-not-compiled).

| what PyTorch runs | operators |
|---|---|
{rows}
"""


def page(known: Known, every: int) -> str:
    """The text, of what is known of so many operators."""
    wrong, left = known["not right"], known["not compiled"]
    reasons = Counter(left.values())
    unjudged = sum(reasons[f"on the host: {each}"] for each in UNJUDGED)
    right, compiled = every - len(wrong) - unjudged, every - len(wrong) - len(left)
    graphs = every - unjudged - reasons[f"on the host: {NO_GRAPH}"]
    counts = {"every": every, "right": right, "compiled": compiled, "graphs": graphs}
    counts["unjudged"] = unjudged
    shares = {
        "right_share": right / every,
        "unjudged_share": unjudged / every,
        "compiled_share": compiled / every,
        "graph_share": compiled / graphs,
    }
    head = HEAD.format(version=VERSION, **counts, **shares)
    rows = "\n".join(f"| `{name}` | {reason} |" for name, reason in wrong.items())
    return head + (WRONG.format(rows=rows) if wrong else "") + LEFT.format(rows=by_reason(left))


def by_reason(left: dict[str, str]) -> str:
    """A row for each reason, those of the most operators first."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, reason in left.items():
        found[reason.removeprefix("on the host: ")].append(f"`{name}`")
    ordered = sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))
    return "\n".join(f"| {spelled(what)} | {', '.join(names)} |" for what, names in ordered)


def spelled(what: str) -> str:
    """The ATen operators of a reason as code."""
    return (
        what if " " in what.split(", ")[0] else ", ".join(f"`{each}`" for each in what.split(", "))
    )
