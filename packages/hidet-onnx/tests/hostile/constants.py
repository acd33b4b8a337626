"""Initialisers whose sizes lie, and small files whose constants are large."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto

import hidet_onnx
from hostile.attack import (
    BILLION,
    HARMLESS,
    attack,
    called,
    compiled,
    graph_of,
    i64,
    model_of,
    node,
)


def raw(dims: list[int], data: bytes = b"", kind: int = TensorProto.FLOAT) -> TensorProto:
    made = TensorProto(name="w", data_type=kind, raw_data=data)
    made.dims.extend(dims)
    return made


def with_tensor(tensor: TensorProto) -> Any:
    return compiled(node("Add", ["x", "w"], ["y"]), held={"w": tensor})


@attack("'w' has a negative size")
def negative_dims(folder: Path) -> Any:
    return with_tensor(raw([-1, 3], bytes(48)))


@attack("'w' has a negative size")
def two_negative_dims(folder: Path) -> Any:
    return with_tensor(raw([-2, -2], bytes(16)))


@attack("an axis of size 4294967296.*guilty")
def overflowing_dims(folder: Path) -> Any:
    return with_tensor(raw([2**32, 2**32], bytes(16)))


@attack("an axis of size.*guilty")
def overflowing_dims_to_zero(folder: Path) -> Any:
    return with_tensor(raw([2**62, 4], b""))


@attack("an axis of size.*guilty")
def zero_times_huge(folder: Path) -> Any:
    return with_tensor(raw([0, 2**62], b""))


@attack("'w' is FLOAT.1000, 1000., which takes 4000000 bytes, but has 16")
def too_little_data(folder: Path) -> Any:
    return with_tensor(raw([1000, 1000], bytes(16)))


@attack("'w' is .*but has 0")
def huge_and_empty(folder: Path) -> Any:
    return with_tensor(raw([2**20, 2**20], b""))


@attack("999 is the number of no element type.*guilty")
def unknown_element_type(folder: Path) -> Any:
    return with_tensor(raw([1], bytes(4), 999))


def sparse(dims: list[int], position: int) -> Any:
    """A model whose weight is one value, at a position, and zeros."""
    where = TensorProto(name="i", data_type=TensorProto.INT64, dims=[1], int64_data=[position])
    graph = graph_of(node("Add", ["x", "w"], ["y"]))
    made = graph.sparse_initializer.add(dims=dims, indices=where)
    made.values.CopyFrom(raw([1], bytes(4)))
    return hidet_onnx.compile(model_of(graph))


@attack("274877906944 bytes of constants.*guilty")
def sparse_bomb(folder: Path) -> Any:
    return sparse([2**18, 2**18], 0)


@attack("'w' do not lie in a tensor of|guilty")
def sparse_outside(folder: Path) -> Any:
    return sparse([3], 7)


@attack("axis 0 of 'x' has the size -5")
def negative_input_dims(folder: Path) -> Any:
    return compiled(node("Exp", ["x"], ["y"]), shape=(-5, 3))


@attack("an axis of size 1099511627776")
def overflowing_input_dims(folder: Path) -> Any:
    return compiled(node("Exp", ["x"], ["y"]), shape=(2**40, 2**40))


@attack("elements; at most")
def huge_input_dims(folder: Path) -> Any:
    return compiled(node("Exp", ["x"], ["y"]), shape=(2**30, 2**30, 2**30, 2**30))


@attack("4000000000 bytes of constants.*guilty.*import_constant_bytes")
def constant_of_shape_bomb(folder: Path) -> Any:
    held = {"s": i64(BILLION)}
    return called(node("ConstantOfShape", ["s"], ["y"]), held=held)


@attack("an axis of size.*guilty")
def constant_of_shape_overflow(folder: Path) -> Any:
    held = {"s": i64(2**40, 2**40)}
    return called(node("ConstantOfShape", ["s"], ["y"]), held=held)


@attack("sizes are not all sizes.*guilty")
def constant_of_negative_shape(folder: Path) -> Any:
    return called(node("ConstantOfShape", ["s"], ["y"]), held={"s": i64(-4)})


@attack("bytes of constants.*guilty")
def folded_constant_bomb(folder: Path) -> Any:
    nodes = node("ConstantOfShape", ["s"], ["big"]), node("Exp", ["big"], ["y"])
    return called(*nodes, held={"s": i64(BILLION)})


@attack("bytes of constants.*guilty")
def folded_reduction_bomb(folder: Path) -> Any:
    nodes = node("ConstantOfShape", ["s"], ["big"]), node("CumSum", ["big", "a"], ["y"])
    return called(*nodes, held={"s": i64(BILLION), "a": np.array(0)})


@attack("out-of-memory")
def expand_bomb(folder: Path) -> Any:
    return called(node("Expand", ["x", "s"], ["y"]), held={"s": i64(BILLION // 6, 2, 3)})


@attack("elements.*guilty")
def expand_overflow(folder: Path) -> Any:
    return called(node("Expand", ["x", "s"], ["y"]), held={"s": i64(2**31 - 1, 2**31 - 1, 1, 1)})


@attack("out-of-memory")
def tile_bomb(folder: Path) -> Any:
    return called(node("Tile", ["x", "s"], ["y"]), held={"s": i64(BILLION // 3, 1)})


@attack("an axis of size.*guilty")
def tile_overflow(folder: Path) -> Any:
    return called(node("Tile", ["x", "s"], ["y"]), held={"s": i64(2**62, 2**62)})


@attack("cannot have the shape")
def tile_negative(folder: Path) -> Any:
    return called(node("Tile", ["x", "s"], ["y"]), held={"s": i64(-1, 1)})


@attack("bytes of constants.*guilty")
def range_bomb(folder: Path) -> Any:
    held = {"a": np.int64(0), "b": np.int64(BILLION), "c": np.int64(1)}
    return called(node("Range", ["a", "b", "c"], ["y"]), held=held)


@attack("guilty")
def range_overflow(folder: Path) -> Any:
    held = {"a": np.int64(-(2**63)), "b": np.int64(2**63 - 1), "c": np.int64(1)}
    return called(node("Range", ["a", "b", "c"], ["y"]), held=held)


@attack("guilty")
def range_without_step(folder: Path) -> Any:
    held = {"a": np.int64(0), "b": np.int64(3), "c": np.int64(0)}
    return called(node("Range", ["a", "b", "c"], ["y"]), held=held)


@attack("guilty.*NaN")
def range_of_nan(folder: Path) -> Any:
    held = {"a": np.float32(0), "b": np.float32(np.nan), "c": np.float32(1)}
    return called(node("Range", ["a", "b", "c"], ["y"]), held=held)


@attack("out-of-memory")
def pad_bomb(folder: Path) -> Any:
    return called(node("Pad", ["x", "p"], ["y"]), held={"p": i64(BILLION // 3, 0, 0, 0)})


@attack("an axis of size.*guilty")
def pad_overflow(folder: Path) -> Any:
    return called(node("Pad", ["x", "p"], ["y"]), held={"p": i64(2**62, 0, 2**62, 0)})


@attack("cannot have the shape")
def pad_to_less_than_nothing(folder: Path) -> Any:
    return called(node("Pad", ["x", "p"], ["y"]), held={"p": i64(-10, 0, -10, 0)})


@attack("bytes of constants.*guilty")
def one_hot_bomb(folder: Path) -> Any:
    held = {"i": i64(0), "d": np.int64(BILLION), "v": np.array([0, 1], np.float32)}
    return called(node("OneHot", ["i", "d", "v"], ["y"]), held=held)


@attack("sizes are not all sizes.*guilty")
def one_hot_negative(folder: Path) -> Any:
    held = {"i": i64(0), "d": np.int64(-3), "v": np.array([0, 1], np.float32)}
    return called(node("OneHot", ["i", "d", "v"], ["y"]), held=held)


@attack("bytes of constants.*guilty")
def eye_bomb(folder: Path) -> Any:
    return called(
        node("EyeLike", ["big"], ["y"]),
        node("ConstantOfShape", ["s"], ["big"]),
        held={"s": i64(40_000, 40_000)},
    )


def resize(*scales: float, sizes: tuple[int, ...] = ()) -> Any:
    held: dict[str, Any] = {"s": np.array(scales, np.float32)} if scales else {}
    held |= {"z": i64(*sizes)} if sizes else {}
    return called(
        node("Resize", ["x", "", "s" if scales else "", "z" if sizes else ""], ["y"]), held=held
    )


@attack("a scale of 1e.08.*guilty")
def resize_bomb(folder: Path) -> Any:
    return resize(1e8, 4.0)


@attack("bytes of constants.*guilty")
def resize_sizes_bomb(folder: Path) -> Any:
    return resize(sizes=(BILLION, 3))


@attack("an axis of size.*guilty")
def resize_sizes_overflow(folder: Path) -> Any:
    return resize(sizes=(2**62, 2**62))


@attack("guilty")
def resize_by_nan(folder: Path) -> Any:
    return resize(np.nan, 1.0)


@attack("guilty")
def resize_by_infinity(folder: Path) -> Any:
    return resize(np.inf, 1.0)


@attack(HARMLESS)
def resize_by_zero(folder: Path) -> Any:
    return resize(0.0, 1.0)


@attack("guilty")
def resize_by_less_than_zero(folder: Path) -> Any:
    return resize(-2.0, 1.0)
