"""Results compared with what has to come out."""

import numpy as np

from hidet.tuning.verdict import Expected, difference

VALUES = np.random.default_rng(0).uniform(-2, 2, (4, 5))


def test_rounding_is_no_difference():
    found = (VALUES * (1 + 1e-7)).astype(np.float32)
    assert difference(found, Expected(None, VALUES, "float32"), 4) == ""
    half = VALUES.astype(np.float16)
    assert difference(half, Expected(None, VALUES, "float16"), 4) == ""


def test_one_wrong_element_is_found_and_told():
    found = VALUES.astype(np.float32)
    found[2, 3] += 0.01
    text = difference(found, Expected(None, VALUES, "float32"), 4)
    assert text.startswith("1 of 20 elements are wrong")


def test_what_was_never_written_is_wrong():
    found = VALUES.astype(np.float32)
    found[0, 0] = np.nan
    assert "1 of 20" in difference(found, Expected(None, VALUES, "float32"), 4)
    assert "nan" in difference(found, Expected(None, VALUES, "float32"), 4)


def test_nan_and_infinity_have_to_be_in_their_places():
    wanted = np.asarray([1.0, np.nan, np.inf, -np.inf])
    assert difference(wanted.astype(np.float32), Expected(None, wanted, "float32"), 4) == ""
    other = np.asarray([1.0, np.nan, -np.inf, -np.inf], np.float32)
    assert "1 of 4" in difference(other, Expected(None, wanted, "float32"), 4)


def test_only_sampled_elements_count():
    found = VALUES.astype(np.float32)
    at = np.asarray([0, 19])
    expected = Expected(at, VALUES.reshape(-1)[at], "float32")
    found[1, 1] = 99
    assert difference(found, expected, 4) == ""
    found[3, 4] = 99
    assert "1 of 2" in difference(found, expected, 4)


def test_integers_have_to_be_equal():
    wanted = np.asarray([1, 2, 3])
    assert difference(np.asarray([1, 2, 3], np.int32), Expected(None, wanted, "int32"), 4) == ""
    assert difference(np.asarray([1, 2, 4], np.int32), Expected(None, wanted, "int32"), 4)
