"""Loads and stores of matrices by warps against the layouts of the mapping."""

import numpy as np
import pytest
from by_hand import c, registers

from hidet.errors import BadKernel
from hidet.intrinsics import INTRINSICS
from hidet.ir.expr import Address, Load, Var
from hidet.ir.stmt import Declare, Invoke, Store
from hidet.mapping import fragments
from hidet.sim import launch
from hidet.types import Scope, TensorType, bf16, f8e4m3, f16, f32, i8, tf32, u16

from .by_lane import LANE, THREAD, moved, start


def there_and_back(block, of, count, transposed):
    """What each lane held, and the rows after storing it again."""
    width, each = 16 // of.nbytes, 4 // of.nbytes * count
    x, held, back = Var("x", of[32, width]), Var("held", of[32, each]), Var("back", of[32, width])
    tile, other = (Var(n, TensorType(of, (32, width), Scope.SHARED)) for n in ("tile", "other"))
    own = registers("own", of, each)
    options = (count, transposed)
    body = (
        *map(Declare, (tile, other, own)),
        moved(lambda i: Store(tile, (LANE, i), Load(x, (LANE, i))), width),
        moved(lambda i: Store(other, (LANE, i), Load(x, (LANE, i))), width),
        Invoke("syncwarp"),
        Invoke("ldmatrix", (start(own), Address(tile, (LANE, c(0)))), (), options),
        moved(lambda i: Store(held, (LANE, i), Load(own, (i,))), each),
        Invoke("stmatrix", (Address(other, (LANE, c(0))), start(own)), (), options),
        Invoke("syncwarp"),
        moved(lambda i: Store(back, (LANE, i), Load(other, (LANE, i))), width),
    )
    values = (np.arange(32 * width) % 120).reshape(32, width).astype(of.numpy)
    out, again = np.zeros((32, each), of.numpy), np.zeros((32, width), of.numpy)
    launch(block((x, held, back), body), values, out, again)
    return values, out, again


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("transposed", [False, True])
def test_lanes_hold_what_the_mapping_says(block, count, transposed):
    values, out, again = there_and_back(block, f16, count, transposed)
    np.testing.assert_array_equal(again, values)
    fragment = fragments.ldmatrix(count, transposed=transposed)
    tiles = values.reshape(4, 8, 8)
    for lane in range(32):
        for value in range(2 * count):
            assert out[lane, value] == tiles[fragment.task(lane, value)]


@pytest.mark.parametrize("of", [i8, f8e4m3, bf16, f32, tf32], ids=str)
@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_lane_holds_a_word_of_each_matrix_whatever_its_elements(block, of, count):
    values, out, again = there_and_back(block, of, count, False)
    np.testing.assert_array_equal(again, values)
    words = values.view(np.uint32).reshape(4, 8, 4)
    for lane in range(32):
        held = out[lane].view(np.uint32)
        assert held.tolist() == words[:count, lane // 4, lane % 4].tolist()


def test_moves_that_do_not_exist():
    a, wide = registers("a", f16, 8), registers("wide", i8, 16)
    row = Address(Var("tile", TensorType(i8, (512,), Scope.SHARED)), (THREAD * 16,))
    check = INTRINSICS["ldmatrix"].check
    with pytest.raises(BadKernel, match="one type"):
        check(Invoke("ldmatrix", (start(wide), start(a)), (), (1, False)))
    with pytest.raises(BadKernel, match="transposes 16-bit elements only, not i8"):
        check(Invoke("ldmatrix", (start(wide), row), (), (1, True)))
    with pytest.raises(BadKernel, match="1, 2, 4, not 3"):
        check(Invoke("ldmatrix", (start(wide), row), (), (3, False)))


@pytest.mark.parametrize("of", [f16, u16, i8, f32], ids=str)
def test_text_of_moves_compiles(block, assembled, of):
    y, tile = Var("y", ~of), Var("tile", TensorType(of, (512,), Scope.SHARED))
    own = registers("own", of, 16 // of.nbytes)
    body = [Declare(tile), Declare(own)]
    for count in (1, 2, 4):
        for transposed in (False, True)[: of.bits // 8 if of.bits == 16 else 1]:
            row, held = Address(tile, (THREAD * (16 // of.nbytes),)), start(own)
            body.append(Invoke("ldmatrix", (held, row), (), (count, transposed)))
            body.append(Invoke("stmatrix", (row, held), (), (count, transposed)))
    body.append(Store(y, (THREAD,), Load(own, (c(1),))))
    assembled(block((y,), body))
