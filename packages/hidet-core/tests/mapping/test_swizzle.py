import pytest

from hidet.errors import BadArgument
from hidet.mapping import Swizzle, SwizzledLayout, bank_conflicts, row_major
from hidet.mapping.swizzle import tma_swizzle


@pytest.mark.parametrize("parameters", [(3, 4, 3), (2, 3, 3), (1, 0, 2), (2, 3, -3), (0, 1, 0)])
def test_a_swizzle_is_its_own_inverse_within_a_period(parameters):
    swizzle = Swizzle(*parameters)
    period = swizzle.period
    assert sorted(map(swizzle, range(period))) == list(range(period))
    assert all(swizzle(swizzle(offset)) == offset for offset in range(2 * period))


def test_the_hardware_swizzle_by_hand():
    # Row r of 128 bytes: its 16-byte piece c lies at piece c ^ r.
    swizzle = tma_swizzle(128)
    for row in range(8):
        for piece in range(8):
            assert swizzle(128 * row + 16 * piece) == 128 * row + 16 * (piece ^ row)
    assert tma_swizzle(128, 2) == Swizzle(3, 3, 3)
    assert tma_swizzle(32) == Swizzle(1, 4, 3)


def test_expressions_meet_only_bit_operations():
    class Bits:
        def __init__(self, text):
            self.text = text

        def __and__(self, mask):
            return Bits(f"({self.text} & {mask})")

        def __rshift__(self, by):
            return Bits(f"({self.text} >> {by})")

        def __xor__(self, other):
            return Bits(f"({self.text} ^ {other.text})")

    assert Swizzle(3, 4, 3)(Bits("x")).text == "(x ^ ((x & 896) >> 3))"


def test_a_swizzled_tile_loads_columns_without_conflicts():
    plain = row_major(8, 64)
    tile = SwizzledLayout(tma_swizzle(128, 2), plain)
    assert tile.is_injective()
    assert tile.cosize == 512
    assert sorted(tile(i) for i in range(tile.size)) == list(range(512))
    assert bank_conflicts([2 * plain(row, 8) for row in range(8)], 16) == 7
    assert bank_conflicts([2 * tile(row, 8) for row in range(8)], 16) == 0
    assert tile.draw().splitlines()[1].split()[0] == "72"


@pytest.mark.parametrize("wrong", [lambda: Swizzle(3, 0, 2), lambda: tma_swizzle(16)])
def test_what_is_no_swizzle_is_refused(wrong):
    with pytest.raises(BadArgument):
        wrong()
