"""`hidet explain`: what an error code stands for."""

from __future__ import annotations

import difflib
from inspect import cleandoc

import hidet.sim  # noqa: F401  (brings the simulator's own errors)
from hidet.errors import BadArgument, HidetError, every_kind


def explain(code: str | None) -> int:
    """Print what `code` means, or the first line of every code."""
    kinds = {kind.code: kind for kind in every_kind()}
    if code is None:
        width = max(map(len, kinds))
        for name, kind in sorted(kinds.items()):
            print(f"{name:{width}}  {meaning(kind).splitlines()[0]}")
        return 0
    if code not in kinds:
        near = difflib.get_close_matches(code, kinds, n=1)
        hint = f"did you mean {near[0]}?" if near else "`hidet explain` lists all codes"
        raise BadArgument(f"there is no error code {code!r}", help=hint)
    kind = kinds[code]
    print(f"{code}\n\n{meaning(kind)}\n")
    parents = [each.code for each in kind.__mro__[1:] if issubclass(each, HidetError)]
    print(f"raised as {kind.__module__}.{kind.__name__}" + "".join(f" < {p}" for p in parents))
    return 0


def meaning(kind: type[HidetError]) -> str:
    """What the class says of itself."""
    return cleandoc(kind.__doc__ or "")
