"""Attributes and operands out of range."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from hostile.attack import BILLION, HARMLESS, attack, called, compiled, i64, node


@attack("guilty")
def reshape_overflow(folder: Path) -> Any:
    return called(node("Reshape", ["x", "s"], ["y"]), held={"s": i64(2**62, -1)})


@attack("more than one size.*guilty")
def reshape_twice_unknown(folder: Path) -> Any:
    return called(node("Reshape", ["x", "s"], ["y"]), held={"s": i64(-1, -1)})


@attack("guilty")
def slice_without_step(folder: Path) -> Any:
    held = {"a": i64(0), "b": i64(2), "axes": i64(0), "step": i64(0)}
    return called(node("Slice", ["x", "a", "b", "axes", "step"], ["y"]), held=held)


@attack("guilty.*cannot be run")
def axis_out_of_range(folder: Path) -> Any:
    return called(node("Softmax", ["x"], ["y"], axis=2**40))


@attack("axis 7 is outside.*guilty")
def concat_axis_out_of_range(folder: Path) -> Any:
    return called(node("Concat", ["x", "x"], ["y"], axis=7))


@attack("guilty.*out of bounds")
def gather_out_of_range(folder: Path) -> Any:
    return called(node("Gather", ["x", "i"], ["y"], axis=1), held={"i": i64(3)})


def image(operator: str, inputs: list[str], **attributes: Any) -> Any:
    weight = np.ones((2, 2, 3, 3), np.float32)
    made = node(operator, inputs, ["y"], **attributes)
    model = compiled(made, held={"w": weight}, shape=(1, 2, 8, 8))
    return model(np.ones((1, 2, 8, 8), np.float32))


@attack("guilty")
def no_groups(folder: Path) -> Any:
    return image("Conv", ["x", "w"], group=0)


@attack("guilty")
def negative_groups(folder: Path) -> Any:
    return image("Conv", ["x", "w"], group=-1)


@attack("no 2 positive numbers.*guilty")
def no_strides(folder: Path) -> Any:
    return image("Conv", ["x", "w"], strides=[0, 0])


@attack("no 2 positive numbers.*guilty")
def huge_strides(folder: Path) -> Any:
    return image("Conv", ["x", "w"], strides=[2**62, 2**62], pads=[2**62] * 4)


@attack("no 2 positive numbers.*guilty")
def no_dilations(folder: Path) -> Any:
    return image("Conv", ["x", "w"], dilations=[0, 1])


@attack("an axis of size.*guilty")
def huge_dilations(folder: Path) -> Any:
    return image("Conv", ["x", "w"], dilations=[2**40, 2**40])


@attack("elements.*guilty")
def huge_window(folder: Path) -> Any:
    return image("MaxPool", ["x"], kernel_shape=[2**31, 2**31])


@attack("guilty")
def window_of_nothing(folder: Path) -> Any:
    return image("AveragePool", ["x"], kernel_shape=[0, 0])


@attack("guilty")
def negative_pads(folder: Path) -> Any:
    return image("AveragePool", ["x"], kernel_shape=[2, 2], pads=[-9, -9, -9, -9])


@attack("an axis of size.*guilty")
def huge_pads(folder: Path) -> Any:
    return image("Conv", ["x", "w"], pads=[2**30] * 4)


@attack("guilty")
def wrong_number_of_strides(folder: Path) -> Any:
    return image("Conv", ["x", "w"], strides=[1, 1, 1, 1])


@attack("blocks of 0.*guilty")
def blocks_of_nothing(folder: Path) -> Any:
    return image("DepthToSpace", ["x"], blocksize=0)


@attack(HARMLESS)
def split_into_nothing(folder: Path) -> Any:
    return called(node("Split", ["x"], ["y"], num_outputs=0, axis=0))


@attack("guilty")
def split_into_a_billion(folder: Path) -> Any:
    return called(node("Split", ["x"], ["y"], num_outputs=BILLION, axis=0))


@attack(HARMLESS)
def sequence_of_two_billion(folder: Path) -> Any:
    return called(node("SplitToSequence", ["x"], ["y"], axis=1), shape=(3, 2**31 - 1))


@attack(HARMLESS)
def sequence_of_single_elements(folder: Path) -> Any:
    made = node("SplitToSequence", ["x", "one"], ["y"], axis=1)
    return called(made, held={"one": np.int64(1)}, shape=(3, 2**31 - 1))


@attack("not str.*guilty")
def wrong_kind_of_attribute(folder: Path) -> Any:
    return called(node("Softmax", ["x"], ["y"], axis="one"))


@attack("no attribute 'nonsense'.*guilty")
def unknown_attribute(folder: Path) -> Any:
    return called(node("Softmax", ["x"], ["y"], nonsense=1))


@attack("the node is in none.*guilty")
def attribute_of_no_function(folder: Path) -> Any:
    made = node("Softmax", ["x"], ["y"], axis=1)
    made.attribute[0].ref_attr_name = "axis"
    return called(made)


@attack(HARMLESS)
def quantised_by_nan(folder: Path) -> Any:
    held = {"s": np.float32(np.nan), "z": np.uint8(0)}
    return called(node("QuantizeLinear", ["x", "s", "z"], ["y"]), held=held)


@attack(HARMLESS)
def quantised_by_nothing(folder: Path) -> Any:
    held = {"s": np.float32(0), "z": np.uint8(0)}
    return called(node("QuantizeLinear", ["x", "s", "z"], ["y"]), held=held)


@attack(HARMLESS)
def quantised_by_infinity(folder: Path) -> Any:
    held = {"s": np.float32(np.inf), "z": np.uint8(0)}
    return called(node("QuantizeLinear", ["x", "s", "z"], ["y"]), held=held)


@attack("elements.*guilty")
def einsum_bomb(folder: Path) -> Any:
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    given = ",".join(letters[at : at + 2] for at in range(0, 52, 2))
    return called(node("Einsum", ["x"] * 26, ["y"], equation=f"{given}->{letters}"))


@attack("guilty")
def einsum_of_nonsense(folder: Path) -> Any:
    return called(node("Einsum", ["x"], ["y"], equation="->->((("))


@attack(HARMLESS)
def patterns_that_never_end(folder: Path) -> Any:
    held = {"t": np.array(["a" * 40 + "!"], object)}
    made = node("RegexFullMatch", ["t"], ["y"], pattern="(a+)+$")
    return called(made, held=held)


def loop(iterations: int, body: list[Any]) -> Any:
    inputs = [
        helper.make_tensor_value_info("turn", TensorProto.INT64, []),
        helper.make_tensor_value_info("on", TensorProto.BOOL, []),
        helper.make_tensor_value_info("v", TensorProto.FLOAT, None),
    ]
    outputs = [helper.make_empty_tensor_value_info(each) for each in ("on_next", "next")]
    on = helper.make_node("Identity", ["on"], ["on_next"])
    graph = helper.make_graph([on, *body], "body", inputs, outputs)
    held = {"m": np.int64(iterations), "yes": np.array(True)}
    return called(node("Loop", ["m", "yes", "x"], ["y"], body=graph), held=held)


@attack("an axis of size 2147483648.*-> next")
def loop_that_doubles(folder: Path) -> Any:
    return loop(60, [helper.make_node("Concat", ["v", "v"], ["next"], axis=0)])


@attack("an axis of size 2147483648.*-> next")
def loop_of_a_billion_iterations_that_grows(folder: Path) -> Any:
    return loop(BILLION, [helper.make_node("Concat", ["v", "v"], ["next"], axis=0)])


@attack("needs the attribute.*guilty")
def if_without_branches(folder: Path) -> Any:
    return called(node("If", ["c"], ["y"]), held={"c": np.array(True)})
