"""Planted proxies are found, noise is not, and intervals hold what they say; the generator is ``proxy_cases``."""

from __future__ import annotations

import numpy as np
import pytest

from fairness_engine.arrays import FloatArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.data.schema import Column, Kind
from fairness_engine.errors import SearchStopped, SettingError, StopReason
from fairness_engine.intervals import LEVEL
from fairness_engine.measures.proxies import telling
from fairness_engine.measures.proxies.learners import Inputs, predict_by_column, predict_chances
from fairness_engine.measures.proxies.results import MAX_GROUPS, OTHERS, ColumnTells, Figure, Measure
from fairness_engine.measures.proxies.telling import NOBODY, Attribute, Telling
from proxy_cases import CARRIERS, NOISE, SCHEMA, planted

pytestmark = pytest.mark.thorough

N_SEEDS = 50
ATTRIBUTES = ("sex", "race", "age")
CHANCE = {"sex": 0.5, "race": 0.5, "age": 0.0}


Told = tuple[list[ColumnTells], Figure]


def told(rows: FloatArray, name: str, seed: int, linked: frozenset[str] = frozenset()) -> Told:
    """What each column, and all of them, tell of an attribute."""
    attribute = Attribute.of(SCHEMA.column(name), rows[:, SCHEMA.index(name)])
    others = Inputs.of(rows, SCHEMA).without(name)
    told = Telling(attribute, others, linked, len(others.names), np.random.default_rng(seed))
    return told.columns(NO_LIMIT), told.together(others)


@pytest.fixture(scope="module")
def found() -> dict[str, list[Told]]:
    """Of 50 tables an attribute, each with one carrier: *place* in the even ones, *hours* in the odd ones."""
    return {
        name: [told(planted(600, seed, name, (CARRIERS[seed % 2],)).rows, name, seed) for seed in range(N_SEEDS)]
        for name in ATTRIBUTES
    }


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_the_planted_column_is_first_in_fifty_of_fifty(name: str, found: dict[str, list[Told]]) -> None:
    for seed, (columns, together) in enumerate(found[name]):
        first = columns[0]
        assert first.column == CARRIERS[seed % 2], seed
        assert first.is_clear, seed
        assert first.tells.low > CHANCE[name], seed
        assert together.low > CHANCE[name], seed


def test_both_of_two_planted_columns_are_first_in_fifty_of_fifty() -> None:
    for seed in range(N_SEEDS):
        columns, together = told(planted(600, seed, strength=0.8).rows, "sex", seed)
        assert {one.column for one in columns[:2]} == set(CARRIERS), seed
        assert all(one.is_clear and one.tells.low > 0.5 for one in columns[:2]), seed
        assert together.value > columns[0].tells.value - 0.03, seed


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_intervals_of_noise_hold_chance_in_about_ninety_five_percent(name: str, found: dict[str, list[Told]]) -> None:
    """Each on its own; those that hold together for all columns name one by mistake in at most one table of twenty."""
    noise = [[one for one in columns if one.column in (*NOISE, *ATTRIBUTES)] for columns, _ in found[name]]
    each = [one.tells.low <= CHANCE[name] <= one.tells.high for columns in noise for one in columns]
    assert len(each) == 6 * N_SEEDS
    assert 0.92 <= np.mean(each) <= 0.99
    assert sum(any(one.is_clear for one in columns) for columns in noise) <= 0.05 * N_SEEDS + 4


@pytest.mark.parametrize("n", [120, 400])
def test_an_area_is_held_in_ninety_five_percent(n: int) -> None:
    """The area of what was learned, on people who were never drawn."""
    is_held = []
    for seed in range(200):
        rows = np.concatenate([planted(n, seed).rows, planted(8_000, 1_000 + seed).rows])
        groups = rows[:, 0].astype(np.int64)
        is_member = groups[:, None] == np.arange(2)
        is_fitted = np.arange(len(rows)) < n // 2
        chances = predict_by_column(Inputs.of(rows, SCHEMA).only(("place",)), is_member.astype(float), is_fitted)
        n_held_out = n - n // 2
        figure = telling._Areas(is_member[n // 2 : n]).figure(chances[:n_held_out], LEVEL)
        truth = telling._Areas(is_member[n:]).figure(chances[n_held_out:], LEVEL).value
        is_held.append(figure.low <= truth <= figure.high)
    assert np.mean(is_held) >= 0.92


def test_linked_columns_are_named() -> None:
    columns, _ = told(planted(600, 1).rows, "sex", 1, frozenset({"place"}))
    assert [one.column for one in columns if one.is_linked] == ["place"]


def test_the_same_seed_tells_the_same_and_another_another() -> None:
    rows = planted(500, 3).rows
    assert told(rows, "race", 1) == told(rows, "race", 1)
    assert told(rows, "race", 1) != told(rows, "race", 2)


def test_what_is_told_perfectly_still_has_an_interval() -> None:
    rows = planted(300, 4).rows
    rows[:, SCHEMA.index("job")] = rows[:, 0]
    columns, together = told(rows, "sex", 4)
    assert columns[0].column == "job"
    assert columns[0].tells.value == 1.0
    assert 0.9 < columns[0].tells.low < 0.99
    assert together.low < 1.0


def test_a_column_of_one_value_tells_nothing() -> None:
    rows = planted(300, 5).rows
    rows[:, SCHEMA.index("job")] = 2
    rows[:, SCHEMA.index("wealth")] = np.nan
    columns, _ = told(rows, "sex", 5)
    by_name = {one.column: one for one in columns}
    for name in ("job", "wealth"):
        assert by_name[name].tells.value == 0.5
        assert by_name[name].tells.high - by_name[name].tells.low > 0.1
    in_years, _ = told(rows, "age", 5)
    assert {one.column: one.tells.value for one in in_years}["job"] == 0.0


def test_a_missing_cell_can_tell_too() -> None:
    rows = planted(800, 6).rows
    rows[(rows[:, 0] == 1) & (np.random.default_rng(6).random(800) < 0.4), SCHEMA.index("points")] = np.nan
    columns, together = told(rows, "sex", 6)
    assert "points" in [one.column for one in columns[:3]]
    assert together.value > columns[0].tells.value


def test_more_categories_than_the_boosting_takes() -> None:
    column = Column("code", Kind.CATEGORICAL, codes=tuple(map(str, range(400))), labels=tuple(map(str, range(400))))
    rng = np.random.default_rng(7)
    values = np.concatenate([np.arange(400), rng.integers(0, 400, 2_000)]).astype(float)
    groups = (values % 2 == rng.integers(0, 5, len(values)) // 4).astype(np.int64)
    inputs = Inputs(values[:, None], np.array([True]), (column.name,))
    chances = predict_chances(inputs, groups, np.arange(len(values)) < 1_600, rng)
    assert chances.shape == (800, 2)
    assert chances.sum(axis=1) == pytest.approx(1)


def test_a_cancel_is_heard() -> None:
    rows = planted(300, 1).rows
    attribute = Attribute.of(SCHEMA.column("sex"), rows[:, 0])
    one = Telling(attribute, Inputs.of(rows, SCHEMA).without("sex"), frozenset(), 8, np.random.default_rng(0))
    with pytest.raises(SearchStopped, match=StopReason.CANCELLED.value):
        one.columns(Clock(is_cancelled=lambda: True))


# --- groups -------------------------------------------------------------------------------------


def letters(n: int) -> Column:
    labels = tuple(f"value {i:02}" for i in range(n))
    return Column("letter", Kind.CATEGORICAL, codes=labels, labels=labels)


def test_rare_values_are_one_group_and_the_rarest_are_in_none() -> None:
    many = np.repeat(np.arange(20.0), [100] * 14 + [10] * 6)
    attribute = Attribute.of(letters(20), many)
    assert len(attribute.labels) == MAX_GROUPS
    assert attribute.labels[-1] == OTHERS
    assert (attribute.groups == MAX_GROUPS - 1).sum() == 3 * 100 + 60
    few = np.repeat(np.arange(3.0), [100, 80, 12])
    attribute = Attribute.of(letters(3), np.append(few, np.nan))
    assert attribute.labels == ("value 00", "value 01")
    assert (attribute.groups == NOBODY).sum() == 13


def test_a_number_is_told_as_a_number_where_it_has_many_values() -> None:
    age = np.arange(18.0, 78.0).repeat(10)
    many = Attribute.of(SCHEMA.column("age"), age)
    assert (many.measure, many.labels) == (Measure.R2, ("18 to 29", "30 to 41", "42 to 53", "54 to 65", "66 to 77"))
    few = Attribute.of(SCHEMA.column("age"), np.repeat([20.0, 30.0, 40.0], 50))
    assert (few.measure, few.labels) == (Measure.AUC, ("20", "30", "40"))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.zeros(500), "'letter' has one value only in these rows"),
        (np.append(np.full(100, np.nan), np.ones(90)), "'letter' has one value only in these rows"),
        (
            np.repeat([0.0, 1.0], [400, 29]),
            "must have at least 30 rows each, got 400 of 'value 00' and 29 of 'value 01'",
        ),
        (np.repeat([0.0, 1.0], [20, 19]), "must have at least 30 rows each, got 20 of 'value 00' and 19 of 'value 01'"),
    ],
)
def test_what_cannot_be_told_is_said(values: FloatArray, said: str) -> None:
    with pytest.raises(SettingError, match=said):
        Attribute.of(letters(2), values)
