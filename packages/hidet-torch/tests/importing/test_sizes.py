import pytest
import sympy
from torch.utils._sympy.functions import FloorDiv

from hidet.errors import NotYet
from hidet.graph.dims import same
from hidet_torch.importing.sizes import Sizes


def test_expressions_become_sizes_over_the_same_symbols() -> None:
    sizes = Sizes()
    s0, s1 = sympy.symbols("s0 s1", integer=True, positive=True)
    found = sizes.convert(2 * s0 * s1 + FloorDiv(s0, 3) - 1)
    a, b = sizes.symbols[s0], sizes.symbols[s1]
    assert same(found, a * b * 2 + a // 3 - 1) is True
    assert sizes.convert(s0**2) is not None
    assert sizes.convert(sympy.Integer(7)) == 7


def test_sizes_that_depend_on_data_are_refused() -> None:
    with pytest.raises(NotYet, match="u0, which depends on data"):
        Sizes().convert(sympy.Symbol("u0", integer=True))
