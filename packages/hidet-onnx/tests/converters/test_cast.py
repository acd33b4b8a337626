"""Casts of every value of narrow types, and data movement on them, as onnx's reference has it."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import hidet
import hidet_onnx
from hidet.errors import UnsupportedOp
from hidet.types import dtype

NARROW = [
    TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2,
    TensorProto.FLOAT8E5M2FNUZ, TensorProto.FLOAT8E8M0, TensorProto.FLOAT4E2M1, TensorProto.INT4,
    TensorProto.UINT4, TensorProto.INT2, TensorProto.UINT2, TensorProto.FLOAT6E2M3,
    TensorProto.FLOAT6E3M2,
]  # fmt: skip
PLAIN = [
    TensorProto.FLOAT16, TensorProto.BFLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE,
    TensorProto.BOOL, TensorProto.INT8, TensorProto.INT16, TensorProto.INT32, TensorProto.INT64,
    TensorProto.UINT8, TensorProto.UINT16, TensorProto.UINT32, TensorProto.UINT64,
]  # fmt: skip
SATURATING = NARROW[:4]


def spelled(code):
    return TensorProto.DataType.Name(code)


def numpy_type(code):
    return np.dtype(helper.tensor_dtype_to_np_dtype(code))


def is_float(code):
    return "FLOAT" in spelled(code) or code == TensorProto.DOUBLE


def model(nodes, inputs, outputs, initializers=(), version=28):
    """A model of nodes; inputs are arrays, outputs names with element types."""
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in inputs.items()
    ]
    found = [helper.make_tensor_value_info(name, code, None) for name, code in outputs.items()]
    graph = helper.make_graph(nodes, "narrow", given, found, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=13)


def ran(made, inputs):
    """What the compiled model gives; nothing of it runs on the host."""
    return hidet_onnx.compile(made, options={"fallback": "error"})(*inputs.values())


def values(code):
    """All values of a narrow type, and of 16 bits; of others those around ties and limits."""
    kind = numpy_type(code)
    if code in NARROW:
        return np.arange(2 ** dtype(kind).bits, dtype=np.uint8).view(kind)
    if code == TensorProto.BOOL:
        return np.array([False, True])
    if kind.itemsize == 2 and is_float(code):
        return np.arange(2**16, dtype=np.uint16).view(kind)
    if is_float(code):
        coarse = np.arange(0, 2**16, 3, dtype=np.uint32) << 16
        x = np.concatenate([coarse, coarse + 1, coarse - 1]).view(np.float32)
        with np.errstate(invalid="ignore"):
            return x.astype(kind)
    small = np.arange(-300, 300)
    return np.concatenate([small, small * 1021]).astype(kind)


def meant(x, target):
    """Where the conversion of floats to integers is defined."""
    if "float" not in x.dtype.name or is_float(target) or target == TensorProto.BOOL:
        return np.ones(x.shape, bool)
    low, high = (-(2**31), 2**31 - 1) if target in NARROW else limits(target)
    with np.errstate(invalid="ignore"):
        real = x.astype(np.float64)
    return np.isfinite(real) & (real > low - 1.0) & (real < float(high) + 1.0)


def limits(code):
    info = ml_dtypes.iinfo(numpy_type(code))
    return info.min, info.max


def same_bits(found, wanted):
    """Equal bits; NaN of any bits are alike."""
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    words = np.dtype(f"u{wanted.dtype.itemsize}")
    equal = np.atleast_1d(found).view(words) == np.atleast_1d(wanted).view(words)
    if "float" in wanted.dtype.name:
        equal |= np.atleast_1d(np.isnan(found) & np.isnan(wanted))
    return equal


def casts(source, saturate=1, round_mode="up"):
    """A model that casts its input to each type that is no other narrow one, and those types."""
    targets = [each for each in (*PLAIN, *NARROW) if each != source]
    if source in NARROW:
        targets = PLAIN
    nodes = [
        helper.make_node(
            "Cast", ["x"], [spelled(each)], to=each, saturate=saturate, round_mode=round_mode
        )
        for each in targets
    ]
    x = {"x": values(source)}
    return model(nodes, x, {spelled(each): each for each in targets}), x, targets


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("source", [*PLAIN, *NARROW], ids=spelled)
def test_casts_are_those_of_the_reference(source, saturate):
    made, x, targets = casts(source, saturate)
    with np.errstate(all="ignore"):
        wanted = ReferenceEvaluator(made).run(None, x)
    for found, each, target in zip(ran(made, x), wanted, targets, strict=True):
        if target in SATURATING and saturate and not is_float(source):
            continue  # the reference clips by numpy's rules for integers beside numbers
        wrong = ~same_bits(found, each) & meant(x["x"], target)
        assert not wrong.any(), (spelled(target), x["x"][wrong][:5], found[wrong][:5])


@pytest.mark.parametrize("source", [TensorProto.INT8, TensorProto.UINT64, TensorProto.BOOL])
def test_integers_saturate_as_the_same_floats_do(source):
    made, x, targets = casts(source)
    wide = {"x": x["x"].astype(np.float32)}
    for found, target in zip(ran(made, x), targets, strict=True):
        if target in SATURATING:
            cast = helper.make_node("Cast", ["x"], ["y"], to=target)
            (wanted,) = ReferenceEvaluator(model([cast], wide, {"y": target})).run(None, wide)
            assert same_bits(found, wanted).all()


@pytest.mark.parametrize("source", NARROW, ids=spelled)
def test_narrow_types_become_each_other_as_float32_would(source):
    targets = [each for each in NARROW if each != source]
    nodes = [helper.make_node("Cast", ["x"], [spelled(each)], to=each) for each in targets]
    x = {"x": values(source)}
    wide = {"x": x["x"].astype(np.float32)}
    outputs = {spelled(each): each for each in targets}
    with np.errstate(all="ignore"):
        wanted = ReferenceEvaluator(model(nodes, wide, outputs)).run(None, wide)
    found = ran(model(nodes, x, outputs), x)
    for one, other, target in zip(found, wanted, targets, strict=True):
        assert (same_bits(one, other) | ~meant(x["x"], target)).all(), spelled(target)


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("round_mode", ["up", "down", "nearest"])
def test_exponents_round_as_they_are_told(round_mode, saturate):
    for source in (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16):
        x = {"x": values(source)}
        to = TensorProto.FLOAT8E8M0
        cast = helper.make_node(
            "Cast", ["x"], ["y"], to=to, saturate=saturate, round_mode=round_mode
        )
        made = model([cast], x, {"y": to})
        with np.errstate(all="ignore"):
            (wanted,) = ReferenceEvaluator(made).run(None, x)
        assert same_bits(ran(made, x), wanted).all()


def test_round_modes_that_do_not_exist_are_refused():
    x = {"x": np.ones(3, np.float32)}
    to = TensorProto.FLOAT8E8M0
    cast = helper.make_node("Cast", ["x"], ["y"], to=to, round_mode="odd")
    with pytest.raises(UnsupportedOp, match="rounding is 'odd'"):
        ran(model([cast], x, {"y": to}), x)


MOVES = {
    "Reshape": ((np.array([3, -1], np.int64),), {}),
    "Transpose": ((), {"perm": [1, 0, 2]}),
    "Identity": ((), {}),
    "Flatten": ((), {"axis": 2}),
    "Squeeze": ((np.array([2], np.int64),), {}),
    "Unsqueeze": ((np.array([0, 2], np.int64),), {}),
    "Pad": ((np.array([1, 0, 0, 0, 2, 0], np.int64),), {}),
    "Shape": ((), {}),
    "Size": ((), {}),
}


@pytest.mark.parametrize("version", [19, 21, 23, 24, 25])
@pytest.mark.parametrize("code", NARROW, ids=spelled)
def test_elements_move_as_they_are(code, version):
    """Every operator of the version whose schema takes the type, in one model."""
    x = np.resize(values(code), 6 * 5).reshape(6, 5, 1)
    taken = f"tensor({spelled(code).lower()})"
    nodes, initializers, outputs = [], [], {}
    for name, (operands, attributes) in MOVES.items():
        schema = onnx.defs.get_schema(name, version)
        if not any(taken in each.allowed_type_strs for each in schema.type_constraints):
            continue
        names = [f"{name}_{k}" for k in range(len(operands))]
        initializers += map(numpy_helper.from_array, operands, names)
        nodes.append(helper.make_node(name, ["x", *names], [name], **attributes))
        outputs[name] = TensorProto.INT64 if name in ("Shape", "Size") else code
    if not nodes:
        return
    made = model(nodes, {"x": x}, outputs, initializers, version)
    wanted = ReferenceEvaluator(made).run(None, {"x": x})
    found = ran(made, {"x": x})
    for one, other in zip(found, wanted, strict=True):
        assert same_bits(one, np.asarray(other)).all()


@pytest.mark.parametrize("packed", [True, False], ids=["raw", "listed"])
@pytest.mark.parametrize("code", NARROW[:10], ids=spelled)
def test_initialisers_are_unpacked(code, packed):
    """Also of an odd number of elements, whose last byte is not full."""
    x = np.resize(values(code), 15).reshape(3, 5)
    held = numpy_helper.from_array(x, "held")
    if not packed:
        held = TensorProto(name="held", data_type=code, dims=x.shape)
        held.int32_data.extend(numpy_helper.from_array(x).raw_data)
    nodes = [
        helper.make_node("Identity", ["held"], ["same"]),
        helper.make_node("Cast", ["held"], ["wide"], to=TensorProto.FLOAT),
    ]
    made = model(nodes, {}, {"same": code, "wide": TensorProto.FLOAT}, [held])
    same, wide = ran(made, {})
    assert same_bits(same, x).all()
    assert same_bits(wide, x.astype(np.float32)).all()


@pytest.mark.parametrize("code", NARROW, ids=spelled)
def test_constants_survive_saving(code, tmp_path):
    x = np.resize(values(code), 7)
    held = numpy_helper.from_array(x, "held")
    given = {"index": np.zeros(7, np.float32)}
    nodes = [
        helper.make_node("Cast", ["held"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["wide", "index"], ["y"]),
    ]
    made = model(nodes, given, {"y": TensorProto.FLOAT}, [held])
    compiled = hidet_onnx.compile(made)
    compiled(*given.values())
    compiled.save(tmp_path / "model.hidet")
    loaded = hidet.load(tmp_path / "model.hidet")
    np.testing.assert_array_equal(loaded(given["index"]), x.astype(np.float32))
