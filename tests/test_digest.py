"""Canonical JSON: the same content gives the same bytes, and what has no such form is refused."""

import math

import numpy as np
import pytest

from snellen.digest import canonical_json, digest_json, rounded


@pytest.mark.parametrize("zero", [-0.0, np.float32(-0.0)])
def test_there_is_one_zero(zero):
    assert canonical_json([zero]) == b"[0.0]"
    assert digest_json(zero) == digest_json(0.0)


def test_a_small_negative_number_keeps_its_sign():
    assert math.copysign(1, rounded(-1e-300)) == -1


@pytest.mark.parametrize("value", [{"b", "a"}, frozenset("ab"), b"ab", bytearray(b"ab"), 1j])
def test_what_has_no_order_or_is_no_text_is_refused(value):
    with pytest.raises(TypeError, match=f"{type(value).__name__} has no canonical form"):
        canonical_json({"x": [value]})


@pytest.mark.parametrize("key", [1, None, 0.5, True])
def test_a_key_that_is_no_text_is_refused(key):
    with pytest.raises(TypeError, match=f"a key of type {type(key).__name__}"):
        canonical_json([{"a": 0, key: 1}])


def test_tuples_arrays_and_generators_are_lists():
    assert canonical_json([(1, 2), np.array([0.5, 1]), (k for k in "ab")]) == (
        b'[[1,2],[0.5,1.0],["a","b"]]'
    )
