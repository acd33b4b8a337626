"""Models of one node of `com.microsoft`, as hidet and as ONNX Runtime compute them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper

import hidet_onnx

Array = np.ndarray[Any, Any]


def model_of(
    kind: str, inputs: Sequence[Array | None], outputs: int, domain: str = "com.microsoft",
    varies: Mapping[int, Sequence[int]] | None = None, held: Sequence[int] = (),
    read: Sequence[int] | None = None,
    **attributes: Any,
) -> onnx.ModelProto:  # fmt: skip
    """A model of a node; an input of None is left out, those `held` are initialisers.

    Of the outputs all have a name, or those that are `read`. `varies` says which axes of which
    inputs have a name instead of a size.
    """
    names = [f"i{n}" if each is not None else "" for n, each in enumerate(inputs)]
    results = [f"o{n}" if read is None or n in read else "" for n in range(outputs)]
    node = helper.make_node(kind, names, results, domain=domain, **attributes)
    values, weights = [], []
    for n, (name, array) in enumerate(zip(names, inputs, strict=True)):
        if array is None:
            continue
        if n in held:
            weights.append(onnx.numpy_helper.from_array(array, name))
            continue
        open_ = (varies or {}).get(n, ())
        shape = [f"{name}_{axis}" if axis in open_ else s for axis, s in enumerate(array.shape)]
        code = helper.np_dtype_to_tensor_dtype(array.dtype)
        values.append(helper.make_tensor_value_info(name, code, shape))
    given = [helper.make_empty_tensor_value_info(name) for name in results if name]
    graph = helper.make_graph([node], "one", values, given, weights)
    imports = [helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("", 21)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def by_runtime(model: onnx.ModelProto, inputs: Sequence[Array]) -> list[Array]:
    """What ONNX Runtime computes."""
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [each.name for each in session.get_inputs()]
    return list(session.run(None, dict(zip(names, inputs, strict=True))))


def by_hidet(model: onnx.ModelProto, inputs: Sequence[Array]) -> list[Array]:
    """What hidet computes without a step on the host."""
    return hidet_onnx.compile(model, options={"fallback": "error"}).run([*inputs])


def check(
    kind: str, inputs: Sequence[Array | None], outputs: int = 1, *, compared: int | None = None,
    rtol: float = 1e-4, atol: float = 1e-5, held: Sequence[int] = (), **how: Any,
) -> None:  # fmt: skip
    """What hidet computes is what ONNX Runtime computes, of the first results `compared`."""
    model = model_of(kind, inputs, outputs, held=held, **how)
    given = [each for n, each in enumerate(inputs) if each is not None and n not in held]
    wanted, found = by_runtime(model, given), by_hidet(model, given)
    for each, other in [*zip(found, wanted, strict=True)][:compared]:
        assert (each.dtype, each.shape) == (other.dtype, other.shape)
        np.testing.assert_allclose(
            each.astype(np.float64), other.astype(np.float64), rtol=rtol, atol=atol
        )
