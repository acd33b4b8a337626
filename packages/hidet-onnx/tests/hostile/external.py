"""External data that leaves the folder of the model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from onnx import TensorProto

import hidet_onnx
from hostile.attack import attack, graph_of, model_of, node


def external(root: Path, location: str, **facts: Any) -> Any:
    """A model in a folder of its own, whose weight lies somewhere else."""
    folder = root / "model"
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3, 3])
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **facts}.items():
        tensor.external_data.add(key=key, value=str(value))
    made = model_of(graph_of(node("Add", ["x", "w"], ["y"]), held={"w": tensor}))
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    return hidet_onnx.compile(path)


def prepare(root: Path) -> None:
    """The files that the models in this folder ask for."""
    folder, outside = root / "model", root / "outside"
    folder.mkdir(exist_ok=True)
    outside.mkdir(exist_ok=True)
    (outside / "secret").write_bytes(bytes(36))
    (folder / "weights").write_bytes(bytes(36))
    (folder / "linked").symlink_to(outside / "secret")
    (folder / "into").symlink_to(outside)
    (folder / "hard").hardlink_to(outside / "secret")
    (folder / "a_folder").mkdir()
    (folder / "circular").symlink_to(folder / "circular")
    os.mkfifo(folder / "fifo")


@attack("'w'.*not in the model's folder.*guilty")
def external_parent(folder: Path) -> Any:
    return external(folder, "../outside/secret")


@attack("not in the model's folder")
def external_parent_within(folder: Path) -> Any:
    return external(folder, "a_folder/../../outside/secret")


@attack("not in the model's folder")
def external_absolute(folder: Path) -> Any:
    return external(folder, str(folder / "outside" / "secret"))


@attack("not in the model's folder")
def external_device(folder: Path) -> Any:
    return external(folder, "/dev/zero")


@attack("not in the model's folder")
def external_link(folder: Path) -> Any:
    return external(folder, "linked")


@attack("not in the model's folder")
def external_folder_link(folder: Path) -> Any:
    return external(folder, "into/secret")


@attack("cannot be opened")
def external_circular_link(folder: Path) -> Any:
    return external(folder, "circular")


@attack("which has other names")
def external_hard_link(folder: Path) -> Any:
    return external(folder, "hard")


@attack("no regular file")
def external_fifo(folder: Path) -> Any:
    return external(folder, "fifo")


@attack("no regular file")
def external_folder(folder: Path) -> Any:
    return external(folder, "a_folder")


@attack("names no file")
def external_nothing(folder: Path) -> Any:
    return external(folder, "")


@attack("names no file")
def external_nul(folder: Path) -> Any:
    return external(folder, "weights\0secret")


@attack("cannot be opened: No such file")
def external_missing(folder: Path) -> Any:
    return external(folder, "there-is-none")


@attack("the offset of 'w' is '-8'")
def external_offset_negative(folder: Path) -> Any:
    return external(folder, "weights", offset=-8, length=36)


@attack("which has 36")
def external_offset_beyond(folder: Path) -> Any:
    return external(folder, "weights", offset=10**12)


@attack("which has 36")
def external_offset_overflow(folder: Path) -> Any:
    return external(folder, "weights", offset=2**64 - 4, length=36)


@attack("which has 36")
def external_length_beyond(folder: Path) -> Any:
    return external(folder, "weights", length=10**12)


@attack("the length of 'w' is '9e3'")
def external_length_nonsense(folder: Path) -> Any:
    return external(folder, "weights", length="9e3")


@attack("takes 36 bytes, but has 35")
def external_length_of_other_dims(folder: Path) -> Any:
    return external(folder, "weights", length=35)


@attack("compile the model by its path")
def external_without_folder(folder: Path) -> Any:
    external(folder, "weights")
    return hidet_onnx.compile((folder / "model" / "model.onnx").read_bytes())
