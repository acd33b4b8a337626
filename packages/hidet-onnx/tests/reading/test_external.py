"""External data: weights stay in their file, whatever their size."""

import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

import hidet_onnx

ROWS, COLUMNS = 700_001, 1024
"""2.9 GB of floats: no message of protobuf's could hold them."""


def written(folder: Path) -> Path:
    """A lookup in a table that lies in a file with a hole in it; its last row is 3."""
    with open(folder / "weights", "wb") as file:
        file.truncate(4 * ROWS * COLUMNS)
        file.seek(4 * (ROWS - 1) * COLUMNS)
        file.write(np.full(COLUMNS, 3, np.float32).tobytes())
    table = TensorProto(name="table", data_type=TensorProto.FLOAT, dims=[ROWS, COLUMNS])
    table.data_location = TensorProto.EXTERNAL
    table.external_data.add(key="location", value="weights")
    index = helper.make_tensor_value_info("i", TensorProto.INT64, ["n"])
    rows = helper.make_empty_tensor_value_info("rows")
    node = helper.make_node("Gather", ["table", "i"], ["rows"])
    graph = helper.make_graph([node], "lookup", [index], [rows], [table])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def look_up(path: Path) -> None:
    """Print the megabytes that compiling and calling took, in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    model = hidet_onnx.compile(path)
    found = model(np.array([0, -1, 7], np.int64))
    np.testing.assert_array_equal(found[:, 0], [0, 3, 0])
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)


@pytest.mark.skipif(sys.platform != "linux", reason="megabytes are counted as Linux does")
def test_a_large_file_is_not_read_into_memory(tmp_path: Path) -> None:
    command = [sys.executable, __file__, str(written(tmp_path))]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) < 500


if __name__ == "__main__":
    look_up(Path(sys.argv[1]))
