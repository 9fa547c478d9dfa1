"""The parts of the data: who trains, who chooses, who tests; and data that cannot be split."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairness_engine.data.dataset import Dataset
from fairness_engine.errors import DataError
from fairness_engine.retraining.evaluation.split import Split, same_people, split_rows
from retraining_cases import data_of

SHARES = (0.2, 0.15)


@pytest.fixture(scope="module")
def census() -> Dataset:
    return data_of("census_income", ("sex",))


def _first(data: Dataset, n: int, labels: list[int] | None = None) -> Dataset:
    chosen = np.arange(n)
    assert data.labels is not None
    return replace(
        data, rows=data.rows[chosen], labels=np.array(labels) if labels else data.labels[chosen], kept=chosen
    )


def test_every_row_is_in_one_part_and_outcomes_are_as_in_the_data(census: Dataset) -> None:
    parts = split_rows(census, *SHARES)
    together = np.concatenate([parts.train, parts.validation, parts.test])
    assert sorted(together) == list(range(len(census.rows)))
    assert census.labels is not None
    for part, share in ((parts.test, 0.2), (parts.validation, 0.15)):
        assert len(part) == pytest.approx(share * len(census.rows), rel=0.03)
        assert census.labels[part].mean() == pytest.approx(census.labels.mean(), abs=0.01)
    assert list(parts.seen) == sorted([*parts.train, *parts.validation])


def test_the_split_is_of_people_and_not_of_the_order_of_rows(census: Dataset) -> None:
    order = np.random.default_rng(0).permutation(len(census.rows))
    assert census.labels is not None
    moved = replace(census, rows=census.rows[order], labels=census.labels[order])
    parts = split_rows(census, *SHARES)
    others = split_rows(moved, *SHARES)
    assert set(order[others.test]) == set(parts.test)
    assert set(order[others.validation]) == set(parts.validation)


def test_rows_that_are_equal_stay_together(census: Dataset) -> None:
    twice = np.concatenate([np.arange(2000), np.arange(1000)])
    assert census.labels is not None
    data = replace(census, rows=census.rows[twice], labels=census.labels[twice], kept=np.arange(3000))
    parts = split_rows(data, *SHARES)
    texts = [{row.tobytes() for row in data.rows[part]} for part in (parts.train, parts.validation, parts.test)]
    assert not texts[0] & texts[1]
    assert not texts[0] & texts[2]
    assert not texts[1] & texts[2]


def test_the_test_rows_are_the_same_people_whatever_is_chosen_by(census: Dataset) -> None:
    few = split_rows(census, 0.2, 0.05)
    many = split_rows(census, 0.2, 0.3)
    assert np.array_equal(few.test, many.test)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: replace(data, labels=None), "has no label"),
        (lambda data: _first(data, 200, [1] * 200), "at least two outcomes, but all are '>50K'"),
        (lambda data: _first(data, 49), "at least 50 labelled rows"),
        (lambda data: _first(data, 200, [1] + [0] * 199), "at least 5 rows of every outcome"),
    ],
)
def test_data_that_nothing_can_be_trained_on_is_refused_in_a_sentence(census: Dataset, change, said: str) -> None:
    with pytest.raises(DataError, match=said):
        split_rows(change(census), *SHARES)


def test_an_outcome_whose_rows_are_all_the_same_is_refused(census: Dataset) -> None:
    data = _first(census, 200, [1] * 20 + [0] * 180)
    data.rows[:20] = data.rows[0]
    with pytest.raises(DataError, match=r"Every outcome needs rows to train on|need at least two outcomes"):
        split_rows(data, *SHARES)


def test_same_people_are_told_by_the_columns_that_are_not_protected(census: Dataset) -> None:
    rows = census.rows[:50]
    sex = census.schema.index("sex")
    moved = rows[:5].copy()
    moved[:, sex] = 1 - moved[:, sex]
    free = np.array([i for i in range(rows.shape[1]) if i != sex])
    assert same_people(moved, rows, free).all()
    assert not same_people(moved, rows, np.arange(rows.shape[1])).any()
    assert isinstance(split_rows(census, *SHARES), Split)
