"""Protected values that never occur together in the data although they should: "female" and "male: divorced".

The rule is the first of ``unseen_values``: nobody of the data has both values, and at least ``MIN_EXPECTED`` people
would if the two attributes had nothing to do with each other. So what is only rare is never called impossible, and no
person of the data is left out. Three values are left out where two of them never go together, and not by themselves:
attributes that depend on each other make many threes rare. A number is counted at the value compared that is nearest to
the person's own.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Kind, Schema
from fairness_engine.measures.plausibility.unseen_values import MIN_EXPECTED
from fairness_engine.oracle.domain import Combination, Scope, compared_values


@dataclass(frozen=True)
class UnseenCombination:
    """Two protected values that nobody of the data has together.

    Args:
        combination: as ``Scope.excluded`` holds it.
        n_expected: how many people would have both if the attributes had nothing to do with each other.
    """

    combination: Combination
    n_expected: float

    def text(self, schema: Schema, scope: Scope) -> str:
        """``sex female and marital_status male: divorced``."""
        both = zip(scope.protected, self.combination, strict=True)
        return " and ".join(f"{name} {schema.column(name).text(value)}" for name, value in both if value is not None)


def unseen_combinations(rows: FloatArray, schema: Schema, scope: Scope) -> tuple[UnseenCombination, ...]:
    """Protected values compared that never occur together in the data although they should, the most expected first.

    Args:
        rows: of the data ``(n_rows, n_columns)``.
        schema: of the rows.
        scope: whose protected attributes and values these are; what it excludes already is found again.

    Raises:
        SettingError: values of an attribute that cannot be compared.
    """
    values = [np.array(compared_values(schema, scope, name)) for name in scope.protected]
    own = [
        _nearest(rows[:, schema.index(name)], at, is_category=schema.column(name).kind is Kind.CATEGORICAL)
        for name, at in zip(scope.protected, values, strict=True)
    ]
    found = []
    for a, b in itertools.combinations(range(len(values)), 2):
        shape = (len(values[a]) + 1, len(values[b]) + 1)
        together = np.bincount(own[a] * shape[1] + own[b], minlength=shape[0] * shape[1]).reshape(shape)
        expected = np.outer(together.sum(axis=1), together.sum(axis=0)) / max(len(rows), 1)
        is_unseen = (together == 0) & (expected >= MIN_EXPECTED)
        for i, k in np.argwhere(is_unseen[:-1, :-1]).tolist():
            combination: list[float | None] = [None] * len(values)
            combination[a] = float(values[a][i])
            combination[b] = float(values[b][k])
            found.append(UnseenCombination(tuple(combination), float(expected[i, k])))
    return tuple(sorted(found, key=lambda each: -each.n_expected))


def _nearest(own: FloatArray, values: FloatArray, *, is_category: bool) -> IntArray:
    """Which of the values compared each person counts for ``(n_rows,)``; one more than the last for a category that is
    not compared.
    """
    place = np.clip(np.searchsorted(values, own), 1, max(1, len(values) - 1))
    place -= own - values[place - 1] < values[np.minimum(place, len(values) - 1)] - own
    place = np.minimum(place, len(values) - 1)
    if is_category:
        place[values[place] != own] = len(values)
    return np.asarray(place, dtype=np.int64)
