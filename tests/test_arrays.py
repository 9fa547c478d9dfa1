"""Arrays that are sent column by column arrive to the bit, and what is no such array is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from fairness_engine.arrays import pack_array, pack_columns, unpack_columns

SHAPES = arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5)
WHOLE = st.integers(-(2**31) - 1, 2**31 + 1).map(float)


def sent(array: NDArray[Any]) -> NDArray[Any]:
    return unpack_columns(json.loads(json.dumps(pack_columns(array))))


@given(arrays.arrays(np.float64, SHAPES, elements=st.floats(width=64) | WHOLE))
def test_numbers_arrive_to_the_bit(array: NDArray[np.float64]) -> None:
    found = sent(array)
    assert found.shape == array.shape
    assert found.dtype == np.float64
    assert np.array_equal(found.view(np.int64), np.ascontiguousarray(array).view(np.int64))


@given(arrays.arrays(np.int64, SHAPES))
def test_whole_numbers_arrive(array: NDArray[np.int64]) -> None:
    found = sent(array)
    assert found.dtype == np.int64
    assert np.array_equal(found, array)


@pytest.mark.parametrize("value", [-0.0, np.nan, -np.nan, np.inf, -np.inf, 256.0, -1.0, 2.0**31, 0.5])
def test_one_odd_number_among_small_ones_arrives(value: float) -> None:
    table = np.tile(np.arange(9.0), (20, 1))
    table[7, 3] = value
    assert np.array_equal(sent(table).view(np.int64), table.view(np.int64))


def test_people_take_a_fraction_of_their_bytes() -> None:
    people = np.random.default_rng(1).integers(0, 90, (1000, 12)).astype(np.float64)
    assert len(pack_columns(people)["base64"]) * 8 == pytest.approx(len(pack_array(people)["base64"]), rel=0.01)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("shape", [2**40, 2]),
        ("shape", [3, -2]),
        ("shape", "3"),
        ("shape", [1, 1, 1, 1]),
        ("shape", [1_000_000_000, 2]),
        ("columns", ["u1"]),
        ("columns", ["u1", "O"]),
        ("columns", ["u1", "f4"]),
        ("columns", ["u1", "i8"]),
        ("base64", "AAAA"),
        ("base64", "???"),
    ],
)
def test_what_is_no_such_array_is_refused(name: str, value: object) -> None:
    packed = pack_columns(np.array([[1.0, 2.0], [3.0, 4.5], [5.0, 6.0]]))
    unpack_columns(packed)
    with pytest.raises(ValueError, match=r"shape|columns|size|base64"):
        unpack_columns(packed | {name: value})
