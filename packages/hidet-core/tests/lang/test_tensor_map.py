"""Tensor maps in scripts: declared of parameters, made by the host, lowered with the kernel."""

import pytest

from hidet.codegen.cuda import emit
from hidet.errors import BadKernel, BadScript, BadTensorMap, DtypeMismatch
from hidet.fusion.ports import ports
from hidet.ir.check import check
from hidet.ir.expr import Var
from hidet.ir.kernel import TensorMap, single
from hidet.lang import address, attr, f16, f32, i32, script, shared_tensor, u64
from hidet.lang.cuda import blockIdx, im2col_map, tensor_map, threadIdx, tma_load, tma_store
from hidet.passes.pipeline import lower
from hidet.types import TensorMapType, Tile, i64

M, N = Var("m", i32), Var("n", i32)


def maps(kernel):
    return [line.strip() for line in str(kernel).splitlines() if ": tensor map of" in line]


def test_sizes_are_those_of_the_parameter():
    @script
    def kernel(x: f16[M, 3, N], y: f16[N * 2]):
        attr.cuda_block_dim = 32
        tiles = tensor_map(x, box=(1, 3, 64), swizzle="128B")
        rows = tensor_map(y, (8,), fill="nan", promotion="none")
        same = tensor_map(x, (1, 3, 64), swizzle="128B")
        tile = shared_tensor(f16, (3, 64))
        bars = shared_tensor(u64, 1)
        tma_load(tile, tiles, (blockIdx.x, 0, 0), ~bars[0])
        tma_load(tile, same, (blockIdx.x, 0, 0), ~bars[0])
        tma_store(rows, 8, tile)

    assert maps(kernel.kernel) == [
        "tiles: tensor map of f16, box (1, 3, 64), swizzle 128B = "
        "x shape (i64(m), 3:i64, i64(n)) strides ((3:i64 * i64(n)), i64(n))",
        "rows: tensor map of f16, box (8,), promotion none, filled with nan = "
        "y shape (i64((n * 2)))",
    ]
    check(kernel.kernel)
    lowered = lower(kernel.kernel)
    check(lowered)
    assert [param.name for param in lowered.params] == ["x", "y"]  # the host knows m and n
    text = emit([lowered])
    assert (
        "kernel(f16 *x, f16 *y, const __grid_constant__ TensorMap tiles, "
        "const __grid_constant__ TensorMap rows)"
    ) in text
    assert "struct alignas(64) TensorMap" in text


def test_memory_may_be_seen_in_another_shape():
    @script
    def kernel(x: ~f32, rows: i32, y: f32[M, 64]):
        attr.cuda_block_dim = 32
        twice = rows * 2
        a = tensor_map(x, (4, 4), shape=(twice, 12), strides=(16,))
        b = im2col_map(y, 8, 4, (-1,), (1,), steps=(2,), shape=(M, 16, 4))
        tile = shared_tensor(f32, 64)
        tma_store(a, (0, 0), tile)
        tma_store(b, (0, 0, 0), tile)

    assert maps(kernel.kernel) == [
        "a: tensor map of f32, box (4, 4) = x shape (i64((rows * 2)), 12:i64) strides (16:i64)",
        "b: tensor map of f32, 8 pixels of 4 channels from (-1,) to (1,) step (2,) = "
        "y shape (i64(m), 16:i64, 4:i64) strides ((16:i64 * 4:i64), 4:i64)",
    ]


def test_functions_take_maps():
    @script
    def fetch(tile, tiles, row, bar):
        tma_load(tile, tiles, (row, 0), bar)

    @script
    def kernel(x: f16[M, 64]):
        attr.cuda_block_dim = 32
        tiles = tensor_map(x, (8, 64))
        tile = shared_tensor(f16, (2, 8, 64))
        bars = shared_tensor(u64, 2)
        for stage in range(2):
            fetch(~tile[stage, 0, 0], tiles, stage * 8, ~bars[stage])

    assert "tma_load(&tile[stage, 0, 0], tiles, &bars[stage], (stage * 8), 0)" in str(kernel.kernel)


def test_a_tensor_with_a_map_takes_no_prologue():
    @script
    def kernel(x: f16[M, 64], y: f16[M, 64]):
        attr.cuda_block_dim = 64
        tiles = tensor_map(x, (8, 64))
        tile = shared_tensor(f16, (8, 64))
        tma_store(tiles, (0, 0), tile)
        y.put(0, threadIdx.x, x.get(0, threadIdx.x))

    assert [var.name for var in ports(single(kernel.kernel))] == ["y"]


def fails(message, body, error=BadScript):
    def kernel(x: f16[M, 64], p: ~f16, n: i32):
        attr.cuda_block_dim = 32
        tile = shared_tensor(f16, (8, 64))
        bars = shared_tensor(u64, 1)
        body(x, p, n, tile, ~bars[0])

    with pytest.raises(error, match=message) as caught:
        script(kernel)
    assert caught.value.place is not None
    assert caught.value.place.file.endswith("test_tensor_map.py")


@pytest.mark.parametrize(
    ("message", "body"),
    [
        ("is of a parameter of the kernel", lambda x, p, n, t, b: tensor_map(t, (8, 64))),
        ("is of a parameter of the kernel", lambda x, p, n, t, b: tensor_map(address(x), (8,))),
        ("is of a parameter of the kernel", lambda x, p, n, t, b: tensor_map(3, (8, 64))),
        ("shape of `p` .* is not known", lambda x, p, n, t, b: tensor_map(p, (8, 64))),
        ("a box of 1 axes", lambda x, p, n, t, b: tensor_map(x, (8,))),
        (
            "has 2 and 2",
            lambda x, p, n, t, b: tensor_map(x, (8, 64), strides=(64, 1)),
        ),
        ("sizes known beforehand", lambda x, p, n, t, b: tensor_map(x, (8, n))),
        (
            "known only inside of the kernel",
            lambda x, p, n, t, b: tensor_map(p, (8, 64), shape=(threadIdx.x, 64)),
        ),
    ],
)
def test_what_is_no_tensor_map(message, body):
    fails(message, body)


@pytest.mark.parametrize(
    ("message", "body", "error"),
    [
        ("1 to 256", lambda x, p, n, t, b: tensor_map(x, (300, 64)), BadTensorMap),
        (
            r"axes of `p` are \(72, 18\) bytes apart",
            lambda x, p, n, t, b: tensor_map(p, (1, 1, 8), shape=(n, 4, 9)),
            BadTensorMap,
        ),
        (
            r"axes of `x` are \(8,\) bytes apart",
            lambda x, p, n, t, b: tensor_map(x, (8, 64), strides=(4,)),
            BadTensorMap,
        ),
        (
            "is ~f16, not a tensor map",
            lambda x, p, n, t, b: tma_load(t, x, (0, 0), b),
            DtypeMismatch,
        ),
        (
            "takes 5 operands",
            lambda x, p, n, t, b: tma_load(t, tensor_map(x, (8, 64)), (0,), b),
            BadKernel,
        ),
        (
            "takes 4 operands",
            lambda x, p, n, t, b: tma_store(tensor_map(x, (8, 64)), (0, 0, 0), t),
            BadKernel,
        ),
        (
            "takes f16, not u64",
            lambda x, p, n, t, b: tma_store(tensor_map(x, (8, 64)), (0, 0), b),
            DtypeMismatch,
        ),
    ],
)
def test_calls_that_do_not_fit_their_map(message, body, error):
    fails(message, body, error)


def test_the_checker_knows_maps():
    @script
    def kernel(x: f16[M, 64]):
        attr.cuda_block_dim = 32
        tile = shared_tensor(f16, (8, 64))
        tma_store(tensor_map(x, (8, 64)), (0, 0), tile)

    (made,) = kernel.kernel.maps
    stranger = Var("y", f16[M, 64])
    sizes = (Var("k", i64),) * 2
    wrong = [
        (TensorMap(made.var, stranger, made.shape, made.strides), "is of no parameter"),
        (TensorMap(made.var, made.tensor, sizes[:1], made.strides), "has not the sizes"),
        (
            TensorMap(
                Var("z", TensorMapType(f32, Tile((8, 64), (1, 1)))),
                *made.children()[1:2],
                made.shape,
                made.strides,
            ),
            "of other elements",
        ),
    ]
    for each, message in wrong:
        with pytest.raises(BadKernel, match=message):
            check(
                kernel.kernel.__class__(
                    "kernel", kernel.kernel.params, (), launch=kernel.kernel.launch, maps=(each,)
                )
            )
