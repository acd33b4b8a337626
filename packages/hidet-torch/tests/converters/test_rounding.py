"""Casts to and from PyTorch's float8 types: every bit as in eager PyTorch."""

import numpy as np
import pytest
import torch

from hidet.errors import NotYet
from hidet_torch.memory.dtypes import PACKED, TO_HIDET, hidet_dtype

NARROW = [own for own in TO_HIDET if own.is_floating_point and own.itemsize == 1]
WIDE = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.bool]


def values(own: torch.dtype) -> torch.Tensor:
    """All values of 16 bits; of wider floats those around ties too."""
    if not own.is_floating_point:
        return torch.arange(-600, 600).to(own)
    coarse = np.arange(2**16, dtype=np.uint32) << 16
    steps = [coarse, coarse + 1, coarse - 1, coarse + 0x8000] if own.itemsize > 2 else [coarse]
    return torch.from_numpy(np.concatenate(steps).astype(np.uint32).view(np.float32)).to(own)


def same(found: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Equal in each bit, or NaN both."""
    assert found.dtype is wanted.dtype
    is_nan = found.float().isnan() & wanted.float().isnan()
    return is_nan | (found.view(torch.uint8) == wanted.view(torch.uint8))


@pytest.mark.parametrize("source", WIDE, ids=str)
def test_rounding_is_that_of_eager_pytorch(source: torch.dtype) -> None:
    x = values(source)
    compiled = torch.compile(
        lambda x: [x.to(own) for own in NARROW], backend="hidet", options={"fallback": "error"}
    )
    for found, own in zip(compiled(x), NARROW, strict=True):
        wrong = ~same(found, x.to(own))
        assert not wrong.any(), (own, x[wrong][:5], found[wrong][:5], x.to(own)[wrong][:5])


@pytest.mark.parametrize("source", NARROW, ids=str)
def test_every_code_is_read_as_eager_pytorch_reads_it(source: torch.dtype) -> None:
    x = torch.arange(256, dtype=torch.uint8).view(source)
    wide = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
    compiled = torch.compile(
        lambda x: [x.to(own) for own in wide], backend="hidet", options={"fallback": "error"}
    )
    for found, own in zip(compiled(x), wide, strict=True):
        torch.testing.assert_close(found, x.to(own), rtol=0, atol=0, equal_nan=True)


def test_copies_round_as_casts_do() -> None:
    x = torch.tensor([-1e9, 500.0, 0.3, float("inf")])

    def copied(x: torch.Tensor) -> torch.Tensor:
        return torch.zeros(4, dtype=torch.float8_e4m3fn).copy_(x)

    found = torch.compile(copied, backend="hidet")(x)
    assert same(found, copied(x)).all()


def test_types_of_less_than_a_byte_are_refused_with_the_reason() -> None:
    there = [own for name in sorted(PACKED) if (own := getattr(torch, name, None)) is not None]
    assert torch.int4 in there
    for own in there:
        with pytest.raises(NotYet, match="several in a byte"):
            hidet_dtype(own)
