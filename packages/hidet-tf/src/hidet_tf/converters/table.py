"""Where converters are filed: by the type of TensorFlow's operator.

    @tf("MatMul")
    def matmul(a: Tensor, b: Tensor, *, transpose_a: bool, transpose_b: bool) -> Tensor: ...

Operands are positional, as the operator's definition lists them: a tensor, or a list of tensors for
one that takes several (`ConcatV2` takes `values, axis`, `Pack` takes `values`). A variable's handle
is a `Variable`. Attributes are keyword parameters with TensorFlow's names, of which a converter
gets those that it names: numbers, bools, str, element types of hidet, shapes as tuples with None
for unknown sizes (None for an unknown rank), functions as `Subgraph`s, and tuples of these. Several
results are a tuple; a result that is a list is its elements.
"""

from __future__ import annotations

from hidet.frontend.importing.converters import Converters

tf: Converters[str] = Converters("hidet-tf")
