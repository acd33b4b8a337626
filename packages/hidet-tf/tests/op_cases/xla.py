"""Parts at places that data tell, as Keras asks for them."""

import numpy as np
from keras import ops

from op_cases.case import case, floats

X, PART = floats(5, 7, 3), floats(2, 7, 1)

CASES = [
    *(
        case(
            f"XlaDynamicUpdateSlice{name}",
            lambda x, y, at: ops.slice_update(x, at, y),
            X,
            PART,
            np.int32(at),
            is_open=False,
        )
        for name, at in (("", [1, 0, 2]), ("-moved", [4, 3, -1]))
    ),
    case(
        "XlaDynamicUpdateSlice-axis",
        lambda x, y, at: ops.slice_update(x, [0, at, 0], y),
        X,
        floats(5, 2, 3),
        np.int32(3),
    ),
    case(
        "XlaDynamicUpdateSlice-all",
        lambda x, y: ops.slice_update(x, [0, 0, 0], y),
        X,
        floats(5, 7, 3),
        is_open=False,
    ),
]
