"""Every operator behind a convolution, and behind two products of one operand: what graph passes
iteration and merge there, they may only where the operator means the same after it."""

import numpy as np
import pytest

from hidet import ops, seams
from hidet.graph import OPERATORS, Tensor, evaluate, from_numpy, trace_from
from hidet.graph.tensor import Node
from hidet.optimize import optimize
from hidet.testing.graphs import sizes
from hidet.types import bf16, f16

seams.call("load_operators")


ROUNDED = {"packed_linear": (f16, bf16)}
"""Types in which an operator may become others that round what it does not: weights that a target
unpacks before the first call are rounded to the type of the rows that they multiply."""


def behind(least):
    """Samples with an operand of at least so many axes that a product may give, and which it is."""
    found = []
    for name, kind in sorted(OPERATORS.items()):
        for number, op in enumerate(kind.samples()):
            for place, of in enumerate(op.types() if op.kind != "framework" else ()):
                if op.types()[0].dtype in ROUNDED.get(name, ()):
                    continue
                known = all(isinstance(size, int) and size for size in of.shape)
                if known and of.ndim >= least and of.dtype.is_float and of.dtype.nbytes > 1:
                    found.append(pytest.param(op, place, id=f"{name}-{number}-{place}"))
    return found


def same_after_passes(op, place, products):
    """Assert that an operator's results stay when its operand `place` is each of some products of
    the graph's input, none of which changes what the input holds but for its order."""
    arrays = op.examples(seed=0)
    inputs = [Tensor(each, "cpu") for each in op.types()]
    outputs = []
    for made in products(inputs[place]):
        operands = (*inputs[:place], made, *inputs[place + 1 :])
        outputs += [turned_around(each) for each in Node(op, operands).outputs]
    before = trace_from(outputs, inputs)
    after = optimize(before, channels_last=lambda op: True)
    pairs = zip(evaluate(before, *arrays), evaluate(after, *arrays), strict=True)
    for wanted, found in pairs:
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


def turned_around(x):
    """A reader for a result: products that are outputs themselves stay apart."""
    return ops.flip(x, (x.ndim - 1,)) if x.ndim else x


@pytest.mark.parametrize(("op", "place"), behind(3))
def test_behind_a_convolution(op, place):
    def convolved(x):
        _, channels, *image = sizes(x)
        window = (3,) * len(image)
        taps = np.zeros((channels, channels, *window))
        taps[:, :, *(1 for _ in image)] = np.eye(channels)
        return [ops.conv(x, from_numpy(taps.astype(x.dtype.numpy)), padding=1)]

    same_after_passes(op, place, convolved)


@pytest.mark.parametrize(("op", "place"), behind(2))
def test_behind_two_products_of_one_operand(op, place):
    def multiplied(x):
        weight = np.eye(sizes(x)[-1]).astype(x.dtype.numpy)
        return [ops.linear(x, from_numpy(each.copy())) for each in (weight, weight[::-1])]

    same_after_passes(op, place, multiplied)
