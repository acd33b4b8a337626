"""What users are told about coverage: a table, a warning, or an error that names everything."""

from __future__ import annotations

from collections.abc import Sequence

from hidet.errors import Place, UnsupportedOp
from hidet.frontend.importing.coverage import Coverage, Use

SHOWN = 3
"""How many places of one operator a message lists."""


class FallbackWarning(UserWarning):
    """A part of a model runs in its framework instead of being compiled."""


def table(coverage: Coverage) -> str:
    """The coverage as text: a line for each operator, those left to the framework first."""
    left, compiled = coverage.left, coverage.compiled
    rows = [
        (name, len(uses), f"left to the framework: {reasons(uses)}") for name, uses in left.items()
    ]
    rows += [(name, count, "compiled") for name, count in compiled.most_common()]
    wide = max((len(name) for name, *_ in rows), default=0)
    lines = [f"{name:<{wide}}  {count:>5}  {how}" for name, count, how in rows]
    for name, uses in left.items():
        lines += [f"{name} at {spot}" for spot in spots(uses)]
    total = sum(compiled.values())
    missing = sum(map(len, left.values()))
    return "\n".join([*lines, f"{total} uses compiled, {missing} left to the framework"])


def listed(coverage: Coverage) -> str:
    """The operators left to the framework: each once with count, reasons and places; those that
    only stay beside others in one line."""
    lines = []
    for name, uses in Coverage(tuple(u for u in coverage.uses if not u.is_beside)).left.items():
        lines.append(f"  {name} ({len(uses)}x): {reasons(uses)}")
        lines += [f"    at {spot}" for spot in spots(uses)]
    beside = [use for use in coverage.uses if use.is_beside]
    if beside:
        names = list(dict.fromkeys(use.operator for use in beside))
        more = ", ..." * (len(names) > SHOWN)
        lines.append(
            f"  {len(beside)} others ({', '.join(names[:SHOWN])}{more}): {reasons(beside)}"
        )
    return "\n".join(lines)


def reasons(uses: Sequence[Use]) -> str:
    """Why uses stay in the framework, each reason once."""
    return "; ".join(dict.fromkeys(use.reason for use in uses))


def warning(coverage: Coverage, framework: str, compiles_nothing: bool = False) -> FallbackWarning:
    """What to warn of when parts of a model run in the framework, or all of it."""
    what = "everything around them is compiled"
    if compiles_nothing:
        what = "and nothing is compiled: the graph is as fast as without hidet"
    return FallbackWarning(
        f"these operators run in {framework}, {what}:\n"
        f'{listed(coverage)}\n  options={{"fallback": "error"}} makes this an error'
    )


def dominated(coverage: Coverage, framework: str, share: float | None = None) -> FallbackWarning:
    """What to warn of when a region gains little, since the framework runs most of it: most of its
    operators, or a `share` of the time of its calls."""
    left = sum(map(len, coverage.left.values()))
    names = ", ".join(f"{name} ({len(uses)}x)" for name, uses in coverage.left.items())
    time = "" if share is None else f" and takes {share:.0%} of the time of a call"
    return FallbackWarning(
        f"{framework} runs {left} of {len(coverage.uses)} operators of a compiled region{time}: it "
        f"is hardly faster than without hidet, and may be slower\n  they are {names}\n  replace "
        f"them by operators that are compiled, or leave this part of the model to {framework}"
    )


WARN = 'options={"fallback": "warn"} runs them in the framework'


def require_complete(coverage: Coverage, help: str = WARN) -> None:
    """Raise UnsupportedOp, naming every operator that would stay in the framework, if any would;
    `help` says what to do."""
    if coverage.is_complete:
        return
    first = next(use for use in coverage.uses if use.reason)
    raise UnsupportedOp(
        f"the model uses operators that are not compiled:\n{listed(coverage)}",
        place=first.place,
        help=help,
    )


def require_runnable(coverage: Coverage, framework: str) -> None:
    """Raise UnsupportedOp, naming every operator that nobody can run, if there is any."""
    lost = Coverage(tuple(use for use in coverage.uses if use.is_lost))
    if lost.is_complete:
        return
    raise UnsupportedOp(
        f"the model uses operators that neither hidet nor {framework} can run:\n{listed(lost)}",
        place=lost.uses[0].place,
    )


def spots(uses: Sequence[Use]) -> list[str]:
    """The first few places, each once, as `file:line in function`."""
    places = list(dict.fromkeys(use.place for use in uses if use.place is not None))
    shown = [spot(place) for place in places[:SHOWN]]
    return shown if len(places) <= SHOWN else [*shown, f"{len(places) - SHOWN} more places"]


def spot(place: Place) -> str:
    """One place of the user's model."""
    return place.short + (f" in {place.function}" if place.function else "")
