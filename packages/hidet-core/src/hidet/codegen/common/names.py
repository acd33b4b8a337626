"""Legal, unique C++ names for the variables of one kernel."""

from __future__ import annotations

import re
from collections.abc import Iterable

from hidet.ir.expr import Var

_WORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t
    char32_t class compl const const_cast constexpr continue decltype default delete do
    double dynamic_cast else enum explicit export extern false float for friend goto if
    inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq
    private protected public register reinterpret_cast restrict return short signed sizeof
    static static_assert static_cast struct switch template this thread_local throw true try
    typedef typeid typename union unsigned using virtual void volatile wchar_t while xor
    xor_eq linux unix main errno stdin stdout stderr
"""
KEYWORDS = frozenset(_WORDS.split())
"""Words that C++, or a host compiler in its default mode, keeps to itself."""
MACRO = re.compile(r"[A-Z][A-Z0-9_]+")
"""How macros are spelled, which headers define as they like: NULL, EOF, INT_MAX."""


class Names:
    """Chooses a name for each variable, in the order asked for."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken: set[str] = set(KEYWORDS) | set(reserved)
        self._names: dict[Var, str] = {}

    def __getitem__(self, var: Var) -> str:
        """The name of `var`: its own where that is legal and free, else with a number."""
        if var not in self._names:
            self._names[var] = self.fresh(var.name)
        return self._names[var]

    def fresh(self, wish: str) -> str:
        """A free name like `wish`, which is taken from now on."""
        stem = legal(wish)
        stem = f"v{stem}" if MACRO.fullmatch(stem) else stem
        name, count = stem, 0
        while name in self._taken:
            count += 1
            name = f"{stem}_{count}"
        self._taken.add(name)
        return name


def legal(wish: str) -> str:
    """`wish` as an identifier that is not reserved to the implementation."""
    text = re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9_]", "_", wish)) or "v"
    return f"v{text}" if text[0].isdigit() or re.match(r"_[A-Z0-9]|_$", text) else text
