"""Tables in which one or two known columns carry a protected attribute, and all others are noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.data.schema import Column, Kind, Schema


def _category(name: str, n: int) -> Column:
    labels = tuple(f"{name} {i:02}" for i in range(n))
    return Column(name, Kind.CATEGORICAL, codes=labels, labels=labels)


SCHEMA = Schema(
    columns=(
        Column("sex", Kind.CATEGORICAL, codes=("F", "M"), labels=("Female", "Male")),
        Column("race", Kind.CATEGORICAL, codes=("a", "b", "c"), labels=("Black", "Other", "White")),
        Column("age", Kind.INTEGER, minimum=18, maximum=79),
        _category("place", 6),
        Column("hours", Kind.INTEGER, minimum=0, maximum=100),
        _category("job", 4),
        _category("town", 30),
        Column("wealth", Kind.REAL, minimum=0.0, maximum=1.0),
        Column("points", Kind.INTEGER, minimum=0, maximum=300),
    ),
    label="granted",
    favourable=1,
    protected=("sex",),
)
CARRIERS = ("place", "hours")
NOISE = ("job", "town", "wealth", "points")
_PLACES = np.array([3, 0, 5, 1, 4, 2])
"""Places in the order of what they carry: the codes are in no order."""


@dataclass(frozen=True)
class Planted:
    """A table and its decisions.

    Args:
        rows: of the engine, some cells missing (NaN) ``(n_rows, n_columns)``.
        favourable: what a rule decides ``(n_rows,)``.
    """

    rows: FloatArray
    favourable: BoolArray


def planted(
    n: int,
    seed: int,
    attribute: str = "sex",
    carriers: tuple[str, ...] = CARRIERS,
    strength: float = 1.0,
    effect: float = 0.0,
    noise: float = 0.0,
) -> Planted:
    """Draw a table.

    Args:
        n: rows.
        seed: of everything.
        attribute: what is carried.
        carriers: columns that carry it; the other one of both is noise too.
        strength: of the carriers.
        effect: points that the attribute itself is worth; 0 for a rule that ignores it.
        noise: standard deviation of what is added to the points; 0 for a rule, more for outcomes of people.
    """
    rng = np.random.default_rng((seed, n))
    sex = (rng.random(n) < 0.45).astype(float)
    race = rng.choice(3, n, p=[0.25, 0.15, 0.6]).astype(float)
    age = np.clip(np.rint(rng.normal(42, 13, n)), 18, 79)
    known = {"sex": 2 * sex - 1, "race": np.array([-1.2, 0.4, 0.6])[race.astype(int)], "age": (age - 42) / 13}
    carried = {name: strength * known[attribute] * (name in carriers) for name in CARRIERS}
    leaning = carried["place"] + rng.normal(0, 1, n)
    place = _PLACES[np.searchsorted([-1.6, -0.7, 0.0, 0.7, 1.6], leaning)].astype(float)
    hours = np.clip(np.rint(40 + 8 * (carried["hours"] + rng.normal(0, 1, n))), 0, 100)
    wealth = rng.random(n)
    points = np.rint(rng.exponential(20, n)).clip(0, 300)
    total = 1.2 * (leaning > 0.7) - (leaning < -0.7) + (hours - 40) / 10 + 2 * (wealth - 0.5)
    total = total + effect * known[attribute] + noise * rng.normal(0, 1, n)
    rows = [sex, race, age, place, hours, rng.integers(0, 4, n), rng.integers(0, 30, n), wealth, points]
    table = np.column_stack(rows).astype(np.float64)
    for name in ("town", "wealth"):
        table[rng.random(n) < 0.03, SCHEMA.index(name)] = np.nan
    return Planted(table, total > 0)
