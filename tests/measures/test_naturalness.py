"""Naturalness: the score of ``sdmetrics`` on people of known making, and what it must be by its definition."""

from __future__ import annotations

import numpy as np
import pytest

from fairness_engine.arrays import FloatArray
from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.measures.plausibility import naturalness as module
from fairness_engine.measures.plausibility.naturalness import naturalness

JOBS = tuple("abcde")
SCHEMA = Schema(
    (
        Column("sex", Kind.CATEGORICAL, codes=("f", "m"), labels=("f", "m")),
        Column("job", Kind.CATEGORICAL, codes=JOBS, labels=JOBS),
        Column("role", Kind.CATEGORICAL, codes=JOBS, labels=JOBS),
        Column("age", Kind.INTEGER, minimum=17, maximum=90),
        Column("years", Kind.REAL, minimum=0, maximum=100),
        Column("pay", Kind.REAL, minimum=-100, maximum=300),
    )
)
N = 5_000
SDMETRICS = [(0.0, 0.99798375), (0.2, 0.96002927), (0.5, 0.90316640), (1.0, 0.80323582)]


def people(seed: int, shift: float) -> FloatArray:
    """Whose columns depend on one another; further from the others the greater the shift."""
    k = np.arange(N, dtype=np.float64)
    unit = np.modf((k + 1) * np.sqrt([2.0, 3, 5, 7, 11])[:, None] * (1 + seed / 7))[0]  # the same everywhere
    sex = np.floor(2 * unit[0])
    job = np.floor(5 * unit[1] ** (1 + shift))
    role = np.where(unit[2] < 0.8, job, 4 - job)
    age = np.floor(17 + 73 * unit[3] * (1 - shift / 2))
    years = (age - 17) * (0.5 + unit[4] / 2)
    return np.stack([sex, job, role, age, years, 3 * years - 40 * shift * unit[0]], axis=1)


@pytest.mark.parametrize(("shift", "score"), SDMETRICS)
def test_it_is_the_overall_score_of_sdmetrics(shift: float, score: float) -> None:
    """Computed by ``sdmetrics`` 0.32.0 of these very people, which cannot be installed beside pandas 3."""
    assert naturalness(people(1, shift), people(0, 0.0), SCHEMA) == pytest.approx(score, abs=1e-7)


def test_the_data_itself_is_wholly_natural_and_nobody_is_nothing() -> None:
    rows = people(0, 0.0)
    assert naturalness(rows, rows, SCHEMA) == pytest.approx(1.0)
    assert naturalness(rows[:0], rows, SCHEMA) is None
    assert naturalness(rows, rows[:0], SCHEMA) is None


def test_columns_that_never_vary_say_nothing_of_their_dependence() -> None:
    rows = people(0, 0.0)
    same = np.tile(rows[:1], (50, 1))
    found = naturalness(same, rows, SCHEMA)
    assert found is not None
    assert 0 < found < 0.5
    assert naturalness(rows, same, SCHEMA) is not None


def test_large_tables_of_counts_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = naturalness(people(1, 0.4), people(0, 0.0), SCHEMA)
    monkeypatch.setattr(module, "_MAX_CELLS", 3)
    assert naturalness(people(1, 0.4), people(0, 0.0), SCHEMA) == pytest.approx(whole, abs=1e-12)


def test_of_a_wide_table_some_columns_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = people(0, 0.0)
    found = people(1, 0.6)
    monkeypatch.setattr(module, "_MAX_COLUMNS", 3)
    some = [0, 2, 5]
    part = Schema(tuple(SCHEMA.columns[i] for i in some))
    assert naturalness(found, rows, SCHEMA) == naturalness(found[:, some], rows[:, some], part)
    monkeypatch.undo()
    n_copies = 500
    wide = Schema(
        tuple(
            Column(f"{each.name} {k}", each.kind, each.codes, each.labels, each.minimum, each.maximum)
            for k in range(n_copies)
            for each in SCHEMA.columns
        )
    )
    score = naturalness(np.tile(found[:100], n_copies), np.tile(rows[:200], n_copies), wide)
    assert score is not None, "3,000 columns have 4.5 million pairs"
