"""Comparisons, which give bools. NaN is unequal to everything, and neither less nor greater."""

from __future__ import annotations

import numpy as np

from hidet.ops.elementwise.families import ANY, binary

equal = binary("equal", "Whether x == y.", lambda a, b: a.eq(b), np.equal, gives="bool", dtypes=ANY)
not_equal = binary(
    "not_equal", "Whether x != y.", lambda a, b: a.ne(b), np.not_equal, gives="bool", dtypes=ANY
)
less = binary("less", "Whether x < y.", lambda a, b: a < b, np.less, gives="bool", dtypes=ANY)
less_equal = binary(
    "less_equal", "Whether x <= y.", lambda a, b: a <= b, np.less_equal, gives="bool", dtypes=ANY
)
greater = binary(
    "greater", "Whether x > y.", lambda a, b: a > b, np.greater, gives="bool", dtypes=ANY
)
greater_equal = binary(
    "greater_equal", "Whether x >= y.", lambda a, b: a >= b, np.greater_equal,
    gives="bool", dtypes=ANY,
)  # fmt: skip
