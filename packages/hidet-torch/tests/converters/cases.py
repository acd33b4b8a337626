"""All cases: importing a module of theirs adds its own."""

import decomposition_cases
import elementwise_cases
import linalg_cases
import order_cases
import product_cases
import reduce_cases
import scattered_cases
import segment_cases
import shape_cases
from case import CASES, Case

MODULES = (
    decomposition_cases,
    elementwise_cases,
    linalg_cases,
    order_cases,
    product_cases,
    reduce_cases,
    scattered_cases,
    segment_cases,
    shape_cases,
)

__all__ = ["CASES", "MODULES", "Case"]
