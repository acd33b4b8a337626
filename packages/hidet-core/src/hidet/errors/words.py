"""How messages name things."""

from __future__ import annotations


def input_called(*names: str) -> str:
    """Inputs by their names, or one by its number: `input x`; one that is called input is that."""
    said = ", ".join(names)
    return said if said == "input" else f"input {said}"
