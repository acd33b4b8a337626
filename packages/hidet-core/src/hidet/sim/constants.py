"""Sizes as numbers: expressions over scalars that are known before a launch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hidet.errors import BadArgument
from hidet.ir.expr import Binary, Cast, Const, Expr, Math, Select, Unary, Var
from hidet.ir.functions import meaning
from hidet.ir.numeric import BINARY, UNARY
from hidet.sim.memories.conversions import cast


def number(e: Expr, known: Mapping[Var, Any]) -> Any:
    """The value of `e`, a numpy scalar of its type."""
    match e:
        case Var():
            return known[e]
        case Const(value, of):
            return np.asarray(value).astype(of.numpy)[()]
        case Binary(a, b):
            return BINARY[type(e)](number(a, known), number(b, known))
        case Unary(a):
            return UNARY[type(e)](number(a, known))
        case Cast(value, to):
            return cast(number(value, known), value.dtype, to)
        case Select(condition, then, otherwise):
            return number(then if number(condition, known) else otherwise, known)
        case Math(name, args, of):
            found = meaning(name)(*(number(arg, known) for arg in args))
            return np.asarray(found).astype(of.numpy)[()]
    raise BadArgument(f"{e} is not a size: it is not known before the launch")
