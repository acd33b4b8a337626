import math

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from benchmarks.measure import decoding
from benchmarks.measure.decoding import DecodeRow, Text, decode_table, measure_decoding


def small(length):
    config = GPT2Config(
        vocab_size=50, n_embd=32, n_layer=1, n_head=2, n_positions=length, bos_token_id=1,
        eos_token_id=1,
    )  # fmt: skip
    return GPT2LMHeadModel(config)


def test_a_step_goes_on_where_the_text_ends(monkeypatch):
    torch.manual_seed(0)
    with torch.no_grad():
        text = Text(small(64).eval(), 2, 64, "cpu")
        first, expected = text.step(text.model), text.expected()
        torch.testing.assert_close(first.double(), expected, rtol=1e-4, atol=1e-5)
        assert not torch.allclose(text.step(text.model), first)
        text.rewind()
        torch.testing.assert_close(text.step(text.model), first)


def test_systems_are_measured_on_the_same_text(monkeypatch):
    monkeypatch.setitem(decoding.DECODERS, "small", small)
    monkeypatch.setattr(decoding, "STEPS", 1)
    rows = list(measure_decoding("small", ["eager", "hidet"], torch.float32, "cpu", 2, 256))
    assert [row.system for row in rows] == ["eager", "hidet"]
    assert all(row.milliseconds > 0 and row.error < 1e-5 and not row.failure for row in rows)


def test_rows_are_shown():
    row = DecodeRow("llama", 1, 1024, "float16", "cuda", "hidet", 0.96, 0.588, 528.0, 2.8e-3, 199)
    lines = decode_table([row, DecodeRow("llama", 1, 1024, "float16", "cuda", "inductor",
                                         failure="no GPU")]).splitlines()  # fmt: skip
    assert "| 0.960 " in lines[2]
    assert "| 0.588 " in lines[2]
    assert "no GPU" in lines[3]
    assert math.isnan(row.compile_seconds)
