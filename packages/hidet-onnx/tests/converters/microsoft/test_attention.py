"""Attention of ONNX Runtime's own domain, beside ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnxruntime")

from one_node import Array, by_hidet, by_runtime, check, model_of

RANDOM = np.random.default_rng(0)
BATCH, ROWS, HEADS, SIZE = 2, 5, 2, 4
WIDTH = HEADS * SIZE
OPEN = {0: (0, 1), 1: (0, 1), 2: (0, 1)}
"""The axes of batches and rows in q, k and v."""
FORMS = ("lengths", "ends and starts", "keys", "pairs")


def floats(*shape: int) -> Array:
    """Numbers between -1 and 1."""
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


def integers(*given: Any) -> Array:
    """Numbers as int32."""
    return np.array(given, np.int32)


def masks(keys: int, rows: int) -> dict[str, Array]:
    """A mask of each of FORMS for two samples, the second with fewer keys."""
    two = np.ones((BATCH, keys), np.int32)
    two[1, 3:] = 0
    left = np.ones((BATCH, rows, keys), np.int32)
    left[0, :, 1] = 0
    every = integers(keys, 3), integers(keys, keys - 1, 0, 2), two, left
    return dict(zip(FORMS, every, strict=True))


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("form", ["none", *FORMS])
@pytest.mark.parametrize("has_past", [False, True])
def test_attention_of_one_tensor(causal: int, form: str, has_past: bool) -> None:
    x, weights, bias = floats(BATCH, ROWS, 6), floats(6, 3 * WIDTH), floats(3 * WIDTH)
    past = floats(2, BATCH, HEADS, 3, SIZE) if has_past else None
    mask = masks(ROWS + 3 * has_past, ROWS).get(form)
    check("Attention", [x, weights, bias, mask, past], 2, num_heads=HEADS, unidirectional=causal,
          varies={0: () if form == "ends and starts" else (0, 1), 4: (3,)})  # fmt: skip


def test_attention_of_one_tensor_with_values_of_another_size() -> None:
    sizes = [8, 8, 12]
    given = [floats(2, 5, 6), floats(6, 28), floats(28), None, None, floats(1, 2, 5, 5)]
    check("Attention", given, num_heads=2, qkv_hidden_sizes=sizes, scale=0.3)


def test_a_mask_of_all_positions() -> None:
    """ONNX Runtime has it on GPUs only: it is a mask of pairs."""
    x, weights, bias = floats(2, 3, 6), floats(6, 24), floats(24)
    past = floats(2, 2, 2, 4, 4)
    whole = RANDOM.integers(0, 2, (2, 1, 9, 9)).astype(np.int32)
    whole[:, :, :, 0] = 1
    given = [[x, weights, bias, each, past] for each in (whole, whole[:, 0, 4:7, :7])]
    found, wanted = (by_hidet(model_of("Attention", each, 2, num_heads=2), each) for each in given)
    for each, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(each, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("former", [0, 2, 5])
def test_a_cache_that_is_shared_keeps_its_size(former: int) -> None:
    """ONNX Runtime has it on GPUs only: it is a longer cache whose first rows count."""
    x, weights, bias = floats(2, 3, 6), floats(6, 24), floats(24)
    shared = floats(2, 2, 2, 8, 4)
    mask = np.ones((2, former + 3), np.int32)
    mask[1, 0] = 0
    given = [x, weights, bias, mask, shared, None, integers(former)[0]]
    how = {"num_heads": 2, "unidirectional": 1}
    model = model_of("Attention", given, 2, past_present_share_buffer=1, **how)
    found, present = by_hidet(model, [each for each in given if each is not None])
    plain = [x, weights, bias, mask, shared[:, :, :, :former]]
    wanted, rows = by_hidet(model_of("Attention", plain, 2, **how), plain)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert present.shape == shared.shape
    np.testing.assert_array_equal(present[:, :, :, : former + 3], rows)
    np.testing.assert_array_equal(present[:, :, :, former + 3 :], shared[:, :, :, former + 3 :])


@pytest.mark.parametrize("form", ["none", *FORMS])
@pytest.mark.parametrize("has_past", [False, True])
def test_attention_of_three_tensors(form: str, has_past: bool) -> None:
    q, k, v = floats(2, 5, 8), floats(2, 7, 8), floats(2, 7, 8 if has_past else 12)
    if form == "ends and starts":
        mask: Array | None = integers(7 + 3 * has_past, 4, 0, 0, 0, 0, 0, 0)
    else:
        mask = masks(7 + 3 * has_past, 5).get(form)
    past = [floats(2, 2, 3, 4), floats(2, 2, 3, 4)] if has_past else [None, None]
    check(
        "MultiHeadAttention",
        [q, k, v, floats(24 if has_past else 28), mask, None, *past],
        3,
        num_heads=2,
    )


def test_attention_of_packed_tensors() -> None:
    """ONNX Runtime has them on GPUs only: they are those of three tensors."""
    q, three = floats(2, 5, 8), floats(2, 5, 2, 3, 4)
    split = [three[:, :, :, each].reshape(2, 5, 8) for each in range(3)]
    for packed, plain in (([three], split), ([q, three[:, :, :, 1:]], [q, *split[1:]])):
        found, wanted = (
            by_hidet(model_of("MultiHeadAttention", each, 1, num_heads=2), each)[0]
            for each in (packed, plain)
        )
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_attention_to_keys_of_another_sequence() -> None:
    q, k, v = floats(2, 5, 8), floats(2, 2, 7, 4), floats(2, 2, 7, 4)
    check("MultiHeadAttention", [q, k, v], num_heads=2)
    check("MultiHeadAttention", [q, k, v, floats(24)], num_heads=2, scale=0.7)
    check("MultiHeadAttention", [floats(2, 5, 8), floats(2, 7, 8), floats(2, 7, 8), None, None,
                                 floats(1, 2, 5, 7)], num_heads=2)  # fmt: skip


def test_attention_of_three_tensors_is_causal() -> None:
    past = floats(2, 2, 3, 4), floats(2, 2, 3, 4)
    q, k, v = floats(2, 5, 8), floats(2, 5, 8), floats(2, 5, 8)
    check("MultiHeadAttention", [q, k, v], num_heads=2, unidirectional=1)
    check("MultiHeadAttention", [q, k, v, None, None, None, *past], 3, num_heads=2,
          unidirectional=1, varies={**OPEN, 6: (0, 2), 7: (0, 2)})  # fmt: skip


@pytest.mark.parametrize("former", [0, 1, 6])
@pytest.mark.parametrize("has_mask", [False, True])
def test_attention_of_one_token(former: int, has_mask: bool) -> None:
    q, k, v = floats(2, 1, 8), floats(2, 1, 8), floats(2, 1, 8)
    mask = np.ones((2, former + 1), np.int32) if has_mask else None
    if mask is not None:
        mask[1, 0] = former == 0
    caches = [floats(2, 2, 7, 4), floats(2, 2, 7, 4)]
    check("DecoderMaskedMultiHeadAttention",
          [q, k, v, mask, None, *caches, integers(former), None, None, floats(24)], 3,
          num_heads=2, past_present_share_buffer=1)  # fmt: skip


def test_attention_of_one_token_to_another_sequence() -> None:
    q, k, v = floats(2, 1, 8), floats(2, 2, 7, 4), floats(2, 2, 7, 4)
    check("DecoderMaskedMultiHeadAttention", [q, k, v], num_heads=2)


def test_samples_without_padding() -> None:
    """ONNX Runtime has it on GPUs only: it is attention of the padded samples."""
    weights, bias, padded = floats(6, 24), floats(24), floats(2, 5, 6)
    counts = integers(3, 5)
    given = [padded, weights, bias, counts]
    (wanted,) = by_runtime(model_of("Attention", given, 1, num_heads=2), given)
    offsets = integers([0, 1, 2, 5, 6], [7, 8, 9, 3, 4])
    tokens = np.concatenate([padded[0, :3], padded[1]])
    packed = [tokens, weights, bias, offsets, integers(0, 3, 8)]
    (found,) = by_hidet(model_of("PackedAttention", packed, 1, num_heads=2), packed)
    right = np.concatenate([wanted[0, :3], wanted[1]])
    np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5)


# ---- heads that share keys -----------------------------------------------------------------------


def shared_heads(
    rows: int, lengths: list[int], cache: int, total: int, rotary: int = 0
) -> list[Any]:
    """The inputs of GroupQueryAttention: 4 heads of queries, 2 of keys; 2 turns half a row."""
    size = 32 if rotary == 2 else 16
    batch = len(lengths)
    three = [floats(batch, rows, count * size) for count in (4, 2, 2)]
    caches = (
        [floats(batch, 2, cache, size), floats(batch, 2, cache, size)] if cache else [None, None]
    )
    angles = floats(24, size // (2 * rotary or 2))
    turn = [np.cos(angles), np.sin(angles)] if rotary else []
    return [*three, *caches, np.array(lengths, np.int32), np.array(total, np.int32), *turn]


def check_shared(given: list[Any], compared: int | None = 3, **how: Any) -> None:
    how = {"num_heads": 4, "kv_num_heads": 2, **how}
    check("GroupQueryAttention", given, 3, compared=compared, **how)


@pytest.mark.parametrize("rotary", [0, 1, 2])
@pytest.mark.parametrize("interleaved", [0, 1])
def test_heads_share_keys(rotary: int, interleaved: int) -> None:
    check_shared(shared_heads(5, [4, 4], 0, 5, rotary), do_rotary=min(rotary, 1),
                 rotary_interleaved=interleaved)  # fmt: skip


@pytest.mark.parametrize("rotary", [0, 1])
@pytest.mark.parametrize("varies", [{}, {**OPEN, 3: (0, 2), 4: (0, 2), 5: (0,)}])
@pytest.mark.parametrize(
    ("lengths", "cache", "total"), [([6, 6], 6, 7), ([6, 4], 6, 7), ([6, 4], 16, 7), ([0, 0], 8, 1)]
)
def test_a_token_after_caches_of_any_length(
    rotary: int, varies: dict[int, tuple[int, ...]], lengths: list[int], cache: int, total: int
) -> None:
    """A cache that has room for the token keeps its size; what follows the token has no meaning."""
    same = lengths[0] == lengths[1] == total - 1 and cache < total
    check_shared(shared_heads(1, lengths, cache, total, rotary), 3 if same else 1,
                 do_rotary=rotary, varies=varies)  # fmt: skip


@pytest.mark.parametrize("cache", [6, 16])
def test_several_tokens_after_a_cache(cache: int) -> None:
    check_shared(shared_heads(3, [8], cache, 9, 1), 3 if cache == 6 else 1, do_rotary=1)


def test_a_prompt_of_samples_of_several_lengths() -> None:
    given = shared_heads(5, [4, 2], 0, 5)
    model = model_of("GroupQueryAttention", given, 3, num_heads=4, kv_num_heads=2)
    filled = [each for each in given if each is not None]
    found, wanted = by_hidet(model, filled)[0], by_runtime(model, filled)[0]
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1, :3], wanted[1, :3], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("window", [1, 3, 100])
def test_a_window_of_keys(window: int) -> None:
    check_shared(shared_heads(5, [4, 4], 0, 5), local_window_size=window)
    check_shared(shared_heads(1, [6, 4], 6, 7), 1, local_window_size=window)


def test_scores_are_capped_and_scaled() -> None:
    check_shared(shared_heads(5, [4, 4], 0, 5), softcap=0.5, scale=0.9)


def test_a_bias_of_scores_and_positions() -> None:
    given = shared_heads(5, [4, 4], 0, 5, 1)
    places = np.arange(5, dtype=np.int64)[None].repeat(2, 0)
    check_shared([*given, places, floats(2, 1, 5, 5)], do_rotary=1)


def test_scores_that_stand_for_no_key() -> None:
    given = shared_heads(5, [4, 4], 0, 5)
    check_shared(given, smooth_softmax=1)
    check_shared([*given, None, None, None, None, floats(4)], local_window_size=2, softcap=0.8)
    cached = shared_heads(1, [6, 4], 16, 7)
    check_shared([*cached, None, None, None, None, floats(4)], 1)


def test_queries_and_keys_in_one_tensor() -> None:
    given = shared_heads(5, [4, 4], 0, 5)
    one = np.concatenate(given[:3], -1)
    check_shared([one, None, None, *given[3:]])


def test_every_row_sees_every_key() -> None:
    check_shared(shared_heads(5, [4, 4], 0, 5), causal=0)
    check_shared(shared_heads(1, [6, 4], 16, 7), 1, causal=0)


def test_chunks_whose_rows_count_in_part() -> None:
    given = shared_heads(4, [8, 6], 16, 9, 1)
    rows = np.array([3, 2], np.int32)
    whole = [*given, *[None] * 7, rows]
    model = model_of("GroupQueryAttention", whole, 3, num_heads=4, kv_num_heads=2, do_rotary=1)
    filled = [each for each in whole if each is not None]
    found, wanted = by_hidet(model, filled)[0], by_runtime(model, filled)[0]
    for sample, count in enumerate(rows):
        np.testing.assert_allclose(
            found[sample, :count], wanted[sample, :count], rtol=1e-4, atol=1e-5
        )
