"""Calls of the operators that no case of `cases.py` reaches by a function of PyTorch's."""

from __future__ import annotations

from typing import Any

import torch

x, picture, volume = torch.ones(2, 3, 8), torch.ones(1, 2, 8, 8), torch.ones(1, 2, 4, 4, 4)
state, row, square = torch.zeros(1, 2, 3), torch.ones(8), torch.ones(4, 4)
whole, places = torch.ones(2, 3, dtype=torch.int64), torch.tensor([1, 0])
half, query = torch.ones(4, 16).bfloat16(), torch.ones(1, 2, 5, 8)


def cell(rows: int) -> list[torch.Tensor]:
    """The weights and biases of a recurrent layer of so many rows, from 8 elements to 3."""
    return [torch.ones(rows, 8), torch.ones(rows, 3), torch.ones(rows), torch.ones(rows)]


COMPOSITES: dict[str, tuple[Any, ...]] = {
    "_fused_rms_norm": (x, [8], row, 1e-5),
    "adaptive_avg_pool1d": (x, 2),
    "adaptive_avg_pool2d": (picture, [2, 2]),
    "adaptive_max_pool1d": (x, 2),
    "avg_pool1d": (x, 2),
    "gru.input": (x, state, cell(9), True, 1, 0.0, False, False, True),
    "isfinite": (x,),
    "linear": (x, torch.ones(4, 8)),
    "lstm.input": (x, [state, state], cell(12), True, 1, 0.0, False, False, True),
    "nonzero_numpy": (x,),
    "rms_norm": (x, [8]),
    "rnn_relu.input": (x, state, cell(3), True, 1, 0.0, False, False, True),
    "rnn_tanh.input": (x, state, cell(3), True, 1, 0.0, False, False, True),
    "scaled_dot_product_attention": (picture, picture, picture),
    "softmax.int": (x, -1),
    "square": (x,),
    "tile": (x, [2, 1, 1]),
    "true_divide.Scalar": (x, 2.0),
    "true_divide.Tensor": (x, x),
    "upsample_bilinear2d.vec": (picture, None, False, [2.0, 2.0]),
    "upsample_nearest2d.vec": (picture, [5, 7], None),
    "where.Scalar": (x > 0, 1.0, 2.0),
    "where.ScalarOther": (x > 0, x, 2.0),
    "where.ScalarSelf": (x > 0, 1.0, x),
}
"""Operators that PyTorch may take apart by itself, with arguments."""

PROJECTION = [torch.ones(24, 8), torch.ones(24), torch.ones(8, 8), row]

OTHERS: dict[str, tuple[Any, ...]] = {
    "__lshift__.Tensor": (whole, whole),
    "__rshift__.Tensor": (whole, whole),
    "_adaptive_avg_pool3d": (volume, [2, 2, 2]),
    "_batch_norm_with_update_functional": (
        *(x, torch.ones(3), torch.ones(3), torch.ones(3), torch.ones(3), 0.1, 1e-5),
    ),
    "_grouped_mm": (half, torch.ones(2, 16, 8).bfloat16(), torch.tensor([2, 4]).int()),
    "_native_batch_norm_legit_functional": (
        *(x, torch.ones(3), torch.ones(3), torch.ones(3), torch.ones(3), False, 0.1, 1e-5),
    ),
    "_native_multi_head_attention": (x, x, x, 8, 2, *PROJECTION),
    "_scaled_dot_product_cudnn_attention": (query, query, query, None, False),
    "_scaled_dot_product_efficient_attention": (query, query, query, None, False),
    "_scaled_dot_product_flash_attention": (query, query, query),
    "_scaled_dot_product_fused_attention_overrideable": (query, query, query),
    "_transformer_encoder_layer_fwd": (
        *(x, 8, 2, *PROJECTION, True, False, 1e-5, row, row, row, row),
        *(torch.ones(16, 8), torch.ones(16), torch.ones(8, 16), row),
    ),
    "_unique2": (x,),
    "_unsafe_index.Tensor": (square, [places]),
    "_unsafe_index_put": (square, [places], torch.ones(2, 4)),
    "adaptive_max_pool3d": (volume, [2, 2, 2]),
    "addmv": (row, torch.ones(8, 3), torch.ones(3)),
    "alias": (x,),
    "any.dims": (x > 0, [0, 1]),
    "avg_pool3d": (volume, [2, 2, 2]),
    "bincount": (places,),
    "bitwise_and.Scalar": (whole, 3),
    "bitwise_left_shift.Tensor": (whole, whole),
    "bitwise_left_shift.Tensor_Scalar": (whole, 1),
    "bitwise_or.Scalar": (whole, 3),
    "bitwise_right_shift.Tensor": (whole, whole),
    "bitwise_right_shift.Tensor_Scalar": (whole, 1),
    "bitwise_xor.Scalar": (whole, 3),
    "cholesky": (square,),
    "clamp_max": (x, 2.0),
    "clamp_max.Tensor": (x, x),
    "clamp_min": (x, 2.0),
    "clamp_min.Tensor": (x, x),
    "copy": (x, x),
    "copysign.Scalar": (x, 2.0),
    "count_nonzero.dim_IntList": (x, [1]),
    "detach": (x,),
    "div.Scalar": (x, 2.0),
    "div.Scalar_mode": (x, 2.0, {"rounding_mode": "floor"}),
    "empty.memory_format": ([2, 3],),
    "empty_like": (x,),
    "empty_permuted": ([2, 3], [1, 0]),
    "empty_strided": ([2, 3], [1, 2]),
    "fill.Scalar": (x, 2.0),
    "fill.Tensor": (x, torch.tensor(2.0)),
    "floor_divide.Scalar": (x, 2.0),
    "full_like": (x, 2.0),
    "isin.Scalar_Tensor": (2.0, x),
    "isin.Tensor_Scalar": (x, 2.0),
    "masked_fill.Tensor": (x, x > 0, torch.tensor(2.0)),
    "masked_select": (x, x > 0),
    "max_pool3d_with_indices": (volume, [2, 2, 2]),
    "new_empty": (x, [2, 3]),
    "new_ones": (x, [2, 3]),
    "nonzero": (x,),
    "ones_like": (x,),
    "prod": (x,),
    "reflection_pad2d": (picture, [1, 1, 1, 1]),
    "reflection_pad3d": (volume, [1] * 6),
    "remainder.Scalar_Tensor": (2.0, x),
    "repeat_interleave.Tensor": (places,),
    "replication_pad1d": (x, [1, 1]),
    "replication_pad3d": (volume, [1] * 6),
    "squeeze.dims": (x, [0, 1]),
    "sub.Scalar": (x, 2.0),
    "unique_consecutive": (x,),
    "unique_dim": (x, 0),
    "zeros": ([2, 3],),
}
"""Overloads that a call in Python does not choose, and what has a test of its own elsewhere."""
