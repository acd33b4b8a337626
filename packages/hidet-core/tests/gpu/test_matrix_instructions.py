"""Matrix instructions: the same script functions in the simulator, against float64, and on a GPU.

Moves and integers agree bit for bit. Sums of floats are compared with the float64 product: the
simulator rounds once for each instruction, the hardware cuts sums off (see
hidet.intrinsics.tensor_cores.mma), which bounds how far either may be away.
"""

import numpy as np
import pytest

from hidet.intrinsics.tensor_cores.mma import PRODUCTS
from hidet.intrinsics.tensor_cores.wgmma import sums_of
from hidet.lang import (
    address,
    attr,
    cdiv,
    f32,
    register_tensor,
    script,
    shared_tensor,
    static,
)
from hidet.lang.cuda import (
    fence_proxy_async,
    laneid,
    ldmatrix,
    mma_sync,
    stmatrix,
    syncthreads,
    syncwarp,
    threadIdx,
    wgmma,
    wgmma_commit_group,
    wgmma_descriptor,
    wgmma_fence,
    wgmma_layout,
    wgmma_wait_group,
)
from hidet.mapping.fragments import wgmma_a, wgmma_c
from hidet.types import bf16, f8e4m3, f8e5m2, f16, f64, i8, i32, tf32, u8


def stored_as(of):
    """The type of global memory: tf32 travels as f32."""
    return f32 if of is tf32 else of


def random(rng, shape, of):
    """Numbers of a type; tf32 has only bits that the hardware keeps."""
    if of.is_integer:
        return rng.integers(of.limits[0], of.limits[1], shape, endpoint=True).astype(of.numpy)
    found = rng.standard_normal(shape).astype(of.numpy)
    return (found.view(np.uint32) & 0xFFFFE000).view(np.float32) if of is tf32 else found


# How much of the sum of absolute values one instruction may lose, by the types of a and of c.
LOST = {f16: 2.0**-21, bf16: 2.0**-21, tf32: 2.0**-21, f64: 2.0**-51}
LOST |= {f8e4m3: 2.0**-12, f8e5m2: 2.0**-12}


def close(found, exact, size, left, into, steps=1):
    """Whether a sum is as near to the exact one as its types allow; integers are equal."""
    if into.is_integer:
        np.testing.assert_array_equal(found, exact.astype(np.int64).astype(into.numpy))
        return
    bound = size * LOST[left] * steps
    if into is f16:
        bound = bound + steps * size * 2.0**-10  # any partial sum may have been cut off
    assert (np.abs(found.astype(np.float64) - exact) <= bound).all()


# ---- mma.sync ------------------------------------------------------------------------------------


def fragments_multiplied(key, saturate=False):
    """Each lane loads its values by number, multiplies, stores its values by number."""
    shape, left, right, into = key
    product = PRODUCTS[key]
    counts = product.a.values, product.b.values, product.c.values

    @script
    def multiply(
        x: stored_as(left)[32, counts[0]],
        y: stored_as(right)[32, counts[1]],
        z: into[32, counts[2]],
    ) -> None:
        attr.cuda_block_dim = 32
        a, b = register_tensor(left, counts[0]), register_tensor(right, counts[1])
        c = register_tensor(into, counts[2])
        for v in static(range(counts[0])):
            a[v] = x[laneid, v]
        for v in static(range(counts[1])):
            b[v] = y[laneid, v]
        for v in static(range(counts[2])):
            c[v] = z[laneid, v]
        mma_sync(a, b, c, shape, saturate)
        for v in static(range(counts[2])):
            z[laneid, v] = c[v]

    return multiply


@pytest.mark.parametrize("key", list(PRODUCTS), ids=str)
def test_mma_sync(key, run):
    _, left, right, into = key
    product, rng = PRODUCTS[key], np.random.default_rng(1)
    a, b = random(rng, product.a.shape, left), random(rng, product.b.shape, right)
    c = random(rng, product.c.shape, f32 if not into.is_integer else i32).astype(into.numpy)
    held = [t.held(m[None])[0] for t, m in ((product.a, a), (product.b, b), (product.c, c))]
    *_, z = run(fragments_multiplied(key), *held)
    a, b, c = (each.astype(np.float64) for each in (a, b, c))
    size = np.abs(c) + np.abs(a) @ np.abs(b)
    close(product.c.tile(z[None])[0], c + a @ b, size, left, into)


def test_integers_stop_at_the_limit(run):
    key = ("m16n8k32", u8, i8, i32)
    a, b = np.full((32, 16), 255, np.uint8), np.full((32, 8), -128, np.int8)
    c = np.full((32, 4), -(2**31) + 100, np.int32)
    *_, z = run(fragments_multiplied(key, True), a, b, c)
    assert (z == -(2**31)).all()


# ---- ldmatrix, stmatrix --------------------------------------------------------------------------


def moved(of, count, transposed):
    """Matrices from shared memory into registers, out to `held`, and back through shared memory."""
    width, each = 16 // of.nbytes, 4 // of.nbytes * count

    @script
    def move(x: of[32, width], held: of[32, each], back: of[32, width]) -> None:
        attr.cuda_block_dim = 32
        tile, other = shared_tensor(of, (32, width)), shared_tensor(of, (32, width))
        own = register_tensor(of, each)
        for v in static(range(width)):
            tile[laneid, v] = x[laneid, v]
            other[laneid, v] = x[31 - laneid, v]
        syncwarp()
        ldmatrix(own, ~tile[laneid, 0], count, transposed)
        stmatrix(~other[laneid, 0], own, count, transposed)
        syncwarp()
        for v in static(range(each)):
            held[laneid, v] = own[v]
        for v in static(range(width)):
            back[laneid, v] = other[laneid, v]

    return move


MOVES = [(f16, n, t) for n in (1, 2, 4) for t in (False, True)]
MOVES += [(of, n, False) for of in (i8, f32) for n in (1, 2, 4)]


def rows_and_room(of, count):
    """Rows to load, and arrays for what is stored."""
    width, each = 16 // of.nbytes, 4 // of.nbytes * count
    rows = (np.arange(32 * width) % 120).reshape(32, width).astype(of.numpy)
    return rows, np.zeros((32, each), of.numpy), np.zeros((32, width), of.numpy)


@pytest.mark.parametrize(("of", "count", "transposed"), MOVES, ids=str)
def test_moves_there_and_back(of, count, transposed, simulated):
    rows, _, back = simulated(moved(of, count, transposed), *rows_and_room(of, count))
    np.testing.assert_array_equal(back[: 8 * count], rows[: 8 * count])
    np.testing.assert_array_equal(back[8 * count :], rows[::-1][8 * count :])


@pytest.mark.gpu
@pytest.mark.parametrize(("of", "count", "transposed"), MOVES, ids=str)
def test_moves_agree(of, count, transposed, simulated, on_device):
    arrays = rows_and_room(of, count)
    function = moved(of, count, transposed)
    for here, there in zip(simulated(function, *arrays), on_device(function, *arrays), strict=True):
        np.testing.assert_array_equal(here, there)


# ---- wgmma ---------------------------------------------------------------------------------------


def tile_shape(rows, depth, of, swizzle, transposed):
    """A tile in shared memory: [rows, k], or [k, rows]; along memory in whole panels."""
    wide = (swizzle or 16) // of.nbytes
    if transposed:
        return depth, -(-rows // wide) * wide
    return -(-rows // 8) * 8, -(-depth // wide) * wide


@script
def stage(source, tile, k, rows, transposed):
    """Elements k of all rows, into a tile [rows, k] or [k, rows]."""
    for iteration in static(range(cdiv(rows, 128))):
        row = threadIdx.x + 128 * iteration
        if row < rows:
            if transposed:
                tile[k, row] = source[row, k]
            else:
                tile[row, k] = source[row, k]


def corner(tile, k, transposed):
    """The address of the first element of an operand that begins at k."""
    return address(tile, k, 0) if transposed else address(tile, 0, k)


def multiplied(left, right, into, columns, swizzle=128, sides=(False, False), held=False, **flags):
    """c += a · b, 64 x columns x two instructions deep, all operands staged by ordinary code.

    `sides` says which of a and b are transposed, `held` that a is in registers.
    """
    deep = 256 // left.bits
    depth = 2 * deep
    shape_a = tile_shape(64, depth, left, swizzle, sides[0])
    shape_b = tile_shape(columns, depth, right, swizzle, sides[1])
    a_layout = wgmma_layout(left, *shape_a, swizzle=swizzle)
    b_layout = wgmma_layout(right, *shape_b, swizzle=swizzle)
    each, sums_each = 64 * deep // 128, columns // 2
    own, sums_at = wgmma_a(left.bits), wgmma_c(columns)

    @script
    def multiply(
        a: stored_as(left)[64, depth], b: stored_as(right)[columns, depth], c: into[64, columns]
    ) -> None:
        attr.cuda_block_dim = 128
        tile_a = shared_tensor(left, shape_a, a_layout)
        tile_b = shared_tensor(right, shape_b, b_layout)
        part = register_tensor(left, (2, each))
        sums = register_tensor(into, sums_each)
        thread = threadIdx.x
        for k in range(depth):
            stage(a, tile_a, k, 64, sides[0])
            stage(b, tile_b, k, columns, sides[1])
        for v in static(range(sums_each)):
            row, column = sums_at.task(thread, v)
            sums[v] = c[row, column]
        for step in static(range(2)):
            for v in static(range(each)):
                row, k = own.task(thread, v)
                part[step, v] = a[row, k + step * deep]
        fence_proxy_async()
        syncthreads()
        wgmma_fence(sums, part)
        for step in static(range(2)):
            k = step * deep
            first = wgmma_descriptor(corner(tile_a, k, sides[0]), transposed=sides[0])
            second = wgmma_descriptor(corner(tile_b, k, sides[1]), transposed=sides[1])
            operand = ~part[step, 0] if held else first
            wgmma(operand, second, sums, f"m64n{columns}k{deep}", **flags)
        wgmma_commit_group()
        wgmma_wait_group(0, sums, part)
        for v in static(range(sums_each)):
            row, column = sums_at.task(thread, v)
            c[row, column] = sums[v]

    return multiply


def check_wgmma(run, left, right, into, columns, *args, **flags):
    """One such product, against float64."""
    rng, deep = np.random.default_rng(3), 256 // left.bits
    a, b = random(rng, (64, 2 * deep), left), random(rng, (columns, 2 * deep), right)
    c = random(rng, (64, columns), i32 if into.is_integer else f32).astype(into.numpy)
    *_, found = run(multiplied(left, right, into, columns, *args, **flags), a, b, c)
    a, b, c = (each.astype(np.float64) for each in (a, b, c))
    sign = -1 if flags.get("negate_a", False) != flags.get("negate_b", False) else 1
    exact = c + sign * a @ b.T
    if flags.get("saturate"):
        exact = np.clip(exact, -(2**31), 2**31 - 1)
    close(found, exact, np.abs(c) + np.abs(a) @ np.abs(b).T, left, into, steps=2)


PAIRS = [(f16, f16), (bf16, bf16), (tf32, tf32)]
PAIRS += [(a, b) for a in (f8e4m3, f8e5m2) for b in (f8e4m3, f8e5m2)]
PAIRS += [(a, b) for a in (i8, u8) for b in (i8, u8)]
FORMS = [(a, b, into) for a, b in PAIRS for into in sums_of(a, b)]


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(("left", "right", "into"), FORMS, ids=str)
def test_wgmma(left, right, into, held, run):
    check_wgmma(run, left, right, into, 32, held=held)


@pytest.mark.parametrize("columns", [8, 24, 72, 136, 256])
def test_wgmma_of_any_width(columns, run):
    check_wgmma(run, f16, f16, f32, columns)


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("of", [i8, f16, tf32], ids=str)
def test_wgmma_of_every_swizzle(of, swizzle, run):
    check_wgmma(run, of, of, i32 if of is i8 else f32, 64, swizzle)


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("sides", [(False, True), (True, False), (True, True)])
@pytest.mark.parametrize("columns", [16, 128])
def test_wgmma_of_transposed_tiles(columns, sides, swizzle, run):
    check_wgmma(run, bf16, bf16, f32, columns, swizzle, sides)


@pytest.mark.parametrize("lines", [1, 3, 6])
def test_wgmma_of_a_pattern_that_begins_elsewhere(lines, run):
    """A tile whose first line of 128 bytes is not at a multiple of 1024, with a base offset."""
    layout, first, at = wgmma_layout(f16, 64, 64), lines * 64, wgmma_c(64)

    @script
    def multiply(a: f16[64, 64], c: f32[64, 64]) -> None:
        attr.cuda_block_dim = 128
        room = shared_tensor(f16, 8192)
        sums = register_tensor(f32, 32)
        for i in range(32):
            row, column = i * 2 + threadIdx.x // 64, threadIdx.x % 64
            room[first + layout(row, column)] = a[row, column]
        fence_proxy_async()
        syncthreads()
        wgmma_fence(sums)
        for k in static(range(4)):
            both = wgmma_descriptor(~room[first + 16 * k], 16, 1024, 128, base_offset=lines)
            wgmma(both, both, sums, "m64n64k16", add=k > 0)
        wgmma_commit_group()
        wgmma_wait_group(0, sums)
        for v in static(range(32)):
            row, column = at.task(threadIdx.x, v)
            c[row, column] = sums[v]

    a = random(np.random.default_rng(5), (64, 64), f16)
    _, found = run(multiply, a, np.zeros((64, 64), np.float32))
    a = a.astype(np.float64)
    close(found, a @ a.T, np.abs(a) @ np.abs(a).T, f16, f32, steps=4)


def test_wgmma_of_fragments_and_a_transposed_tile(run):
    check_wgmma(run, f16, f16, f32, 64, 128, (False, True), True)


@pytest.mark.parametrize("flags", [("negate_a",), ("negate_b",), ("negate_a", "negate_b")], ids=str)
def test_wgmma_negated(flags, run):
    check_wgmma(run, f16, f16, f32, 16, **dict.fromkeys(flags, True))


def test_wgmma_that_saturates(run):
    check_wgmma(run, i8, u8, i32, 16, saturate=True)
