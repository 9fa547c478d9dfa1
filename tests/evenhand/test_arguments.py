"""Whatever a script gives is taken for what it means, or refused in a sentence."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand
from evenhand.arguments import _READERS

pytestmark = pytest.mark.thorough

JUNK: tuple[Any, ...] = (
    *(None, True, -1, 0, 1.5, 10**400, float("nan"), float("inf"), 3 + 4j, "", "many", b"5"),
    *([], [[]], ["x", 3], (1, 2), {}, {"age": 30}, {"age": ("a", "b")}, {3: (1, 2)}, {"age": None}, {"sex": [[]]}),
    *(object(), np.array([1, 2]), np.float32(1.5), np.datetime64("2020-01-01"), pd.NA, pd.DataFrame({"age": [1]})),
)


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 40, 200), "sex": rng.choice(["f", "m"], 200)})
    return frame.assign(pay=rng.choice(["low", "high"], 200))


def decide(rows: pd.DataFrame) -> pd.Series:
    return ((rows["age"] < 30) & (rows["sex"] == "f")).astype(int)


@pytest.fixture(scope="module")
def data() -> evenhand.Data:
    return evenhand.read_data(people(), label="pay", favourable="high")


@pytest.fixture(scope="module")
def review(data: evenhand.Data) -> evenhand.Review:
    return evenhand.Review(data, decide, protected="sex")


def test_numbers_of_any_type_are_taken_for_what_they_mean(data: evenhand.Data, review: evenhand.Review) -> None:
    asked = review.search("random", max_evaluations=60, max_found=5, seed=3, start_rows=10, max_seconds=9.0)
    for whole, number in ((float, int), (np.int64, np.float32), (np.float64, np.int8), (str, str)):
        same = review.search(
            np.str_("random"),
            max_evaluations=whole(60),
            max_found=whole(5),
            seed=whole(3),
            start_rows=whole(10),
            max_seconds=number(9),
        )
        assert same.pairs.equals(asked.pairs)
    assert review.search("random", max_evaluations=1e2).evaluations <= 100
    assert review.estimate(samples=1e2).n == review.estimate(samples=np.int16(100)).n == 100
    narrow = {
        "protected": np.array(["sex"]),
        "fixed": pd.Index(["age"]),
        "limits": {"age": (np.int64(20), 25.0)},
        "threshold": np.float32(0.5),
        "values": {"sex": np.array(["f", "m"])},
        "max_variants": 1e2,
    }
    assert evenhand.Review(data, decide, **narrow).estimate(samples=50.0).share == 1
    numbers = people().assign(pay=lambda rows: (rows["pay"] == "high").astype(int))
    assert evenhand.read_data(numbers, label="pay", favourable=np.int64(0), missing="x").favourable == 0


def test_settings_of_other_types_are_refused(review: evenhand.Review) -> None:
    for own, message in (
        ({"only_plausible": "perhaps"}, "'only_plausible' must be yes or no, got 'perhaps'"),
        ({"n_kept": np.float32(1.5)}, r"'n_kept' must be a whole number .*, got .*1\.5"),
        ({"n_kept": pd.DataFrame({"x": [1]})}, r"'n_kept' must be a whole number .*, got x 0 1\."),
    ):
        with pytest.raises(evenhand.Error, match=message):
            review.search("directed", **own)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"limits": {"age": 30}}, r"'limits' must be two numbers by attribute, .*, got {'age': 30}\."),
        ({"limits": {"age": ("a", "b")}}, "'limits' must be two numbers by attribute"),
        ({"values": {"age": 30}}, "'values' must be lists of texts or numbers by attribute"),
        ({"threshold": "high"}, "'threshold' must be a number, got 'high'"),
        ({"protected": 3}, "'protected' must be a text or a list of texts, got 3"),
        ({"positive": ["high"]}, "'positive' must be a text or a number"),
        ({"max_variants": 2.5}, "'max_variants' must be a whole number, got 2.5"),
    ],
)
def test_a_scope_of_other_types_is_refused(data: evenhand.Data, own: dict[str, Any], message: str) -> None:
    with pytest.raises(evenhand.Error, match=message):
        evenhand.Review(data, decide, **{"protected": "sex", **own})


def sentence(ask: Callable[[], object]) -> str:
    """What it was refused with; empty where it was done."""
    try:
        ask()
    except evenhand.Error as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", ["read_data", "Review", "search", "estimate", "count", "certify", "groups"])
def test_no_argument_whatsoever_raises_anything_but_an_error(
    name: str, data: evenhand.Data, review: evenhand.Review
) -> None:
    frame = people()
    ask, own = {
        "read_data": (lambda **given: evenhand.read_data(frame, **given), {"label": "pay"}),
        "Review": (lambda **given: evenhand.Review(data, decide, **given), {"protected": "sex"}),
        "search": (review.search, {"technique": "random", "max_evaluations": 50}),
        "estimate": (review.estimate, {"samples": 50}),
    }.get(name, (getattr(review, name, None), {}))
    public = getattr(evenhand, name, None) or getattr(evenhand.Review, name)
    names = {
        each.name
        for each in inspect.signature(public).parameters.values()
        if each.kind is not each.VAR_KEYWORD and each.name not in ("self", "source", "data", "model")
    }
    assert names <= set(_READERS)
    for argument in sorted(names):
        for junk in JUNK:
            said = sentence(partial(ask, **{**own, argument: junk}))
            assert "\n" not in said
            assert len(said) < 600
