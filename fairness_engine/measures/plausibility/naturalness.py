"""How much the people found look like the data as a whole: the naturalness (ATN) of LIMI.

Plausibility asks whether each person could exist; this asks whether people were found as they are in the data. It
compares distributions, so a scan of the data is the measure of all others: who is treated differently is seldom
distributed as all people are.

Reference: Xiao et al. (2023), "Latent Imitator" (LIMI); their naturalness is the overall quality score of the
``sdmetrics`` package, of which this is version 0.32, with three departures: of wide tables 64 columns are looked at;
joint distributions are counted over all people, not over 50,000 drawn ones; and values that only the found people have
count as 0 in the data, not as a millionth of a row.
"""

from __future__ import annotations

import itertools

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Kind, Schema

_MIN_CORRELATION = 0.5
_MIN_ASSOCIATION = 0.3
"""Of the data: pairs of columns that depend on each other less say nothing."""
_N_BINS = 10
"""Intervals of a number beside a category, of equal width, between the least and the greatest value of those people."""
_MAX_COLUMNS = 64
"""Of more, so many are looked at, evenly spaced: 2,016 pairs of columns."""
_MAX_CELLS = 1_000_000
"""Of a table of counts that is kept whole; of a larger one the cells that occur."""


def naturalness(people: FloatArray, rows: FloatArray, schema: Schema) -> float | None:
    """The mean of how alike the columns are and how alike their dependence on each other is, 0 to 1; ``None`` without
    people or without rows.

    Args:
        people: that were found ``(n_people, n_columns)``.
        rows: of the data ``(n_rows, n_columns)``.
        schema: of both.
    """
    if not len(people) or not len(rows):
        return None
    is_number = np.array([column.kind is not Kind.CATEGORICAL for column in schema.inputs])
    columns = np.linspace(0, len(is_number) - 1, min(len(is_number), _MAX_COLUMNS)).astype(np.int64).tolist()
    shapes = [_alike(people[:, i], rows[:, i], is_number=bool(is_number[i])) for i in columns]
    coded = {i: [_coded(each[:, i], bool(is_number[i])) for each in (people, rows)] for i in columns}
    trends = []
    for i, k in itertools.combinations(columns, 2):
        if is_number[i] and is_number[k]:
            found = _correlated_alike(people[:, [i, k]], rows[:, [i, k]])
        else:
            found = _joined_alike((coded[i][0], coded[k][0]), (coded[i][1], coded[k][1]))
        if found is not None:
            trends.append(found)
    parts = [float(np.mean(shapes)), *([float(np.mean(trends))] if trends else [])]
    return float(np.clip(np.mean(parts), 0, 1))


def _alike(people: FloatArray, rows: FloatArray, *, is_number: bool) -> float:
    """1 less the distance of two distributions of one column: Kolmogorov's for numbers, total variation for
    categories.
    """
    values, places = np.unique(np.concatenate([people, rows]), return_inverse=True)
    n = len(people)
    shares = [np.bincount(part, minlength=len(values)) / len(part) for part in (places[:n], places[n:])]
    gap = shares[0] - shares[1]
    return float(1 - (np.abs(np.cumsum(gap)).max() if is_number else np.abs(gap).sum() / 2))


def _coded(values: FloatArray, is_number: bool) -> IntArray:
    """Categories as they are, numbers by intervals of their own ``(n,)``."""
    if not is_number:
        return values.astype(np.int64)
    return np.digitize(values, np.histogram_bin_edges(values, _N_BINS)).astype(np.int64)


def _correlated_alike(people: FloatArray, rows: FloatArray) -> float | None:
    """1 less half the difference of two correlations; ``None`` where the data has hardly any, or it is not defined."""
    own = _correlation(rows)
    theirs = _correlation(people)
    if own is None or theirs is None or abs(own) <= _MIN_CORRELATION:
        return None
    return 1 - abs(own - theirs) / 2


def _correlation(numbers: FloatArray) -> float | None:
    """Pearson's, of two columns ``(n, 2)``."""
    if len(numbers) < 2 or (np.ptp(numbers, axis=0) == 0).any():
        return None
    return float(np.asarray(np.corrcoef(numbers.T))[0, 1])


def _joined_alike(people: tuple[IntArray, IntArray], rows: tuple[IntArray, IntArray]) -> float | None:
    """1 less the total variation of two joint distributions; ``None`` where the columns of the data are hardly
    associated.
    """
    width = max(int(codes.max()) for codes in (people[1], rows[1])) + 1
    theirs = people[0] * width + people[1]
    own = rows[0] * width + rows[1]
    cells = np.arange(max(int(theirs.max()), int(own.max())) + 1)
    if len(cells) > _MAX_CELLS:
        cells, places = np.unique(np.concatenate([theirs, own]), return_inverse=True)
        theirs, own = np.split(places, [len(theirs)])
    counts = [np.bincount(part, minlength=len(cells)) for part in (theirs, own)]
    has = counts[1] > 0
    if not _is_associated(cells[has] // width, cells[has] % width, counts[1][has]):
        return None
    return float(1 - np.abs(counts[0] / len(theirs) - counts[1] / len(own)).sum() / 2)


def _is_associated(first: IntArray, second: IntArray, counts: IntArray) -> bool:
    """Whether Cramér's V of a table of counts, given cell by cell, is large enough."""
    a, b = (np.unique(codes, return_inverse=True)[1] for codes in (first, second))
    of_a, of_b = (np.bincount(codes, counts) for codes in (a, b))
    n_least = min(len(of_a), len(of_b))
    if n_least < 2:
        return False
    n = counts.sum()
    chi2 = n * ((counts**2 / (of_a[a] * of_b[b])).sum() - 1)
    return bool(np.sqrt(chi2 / (n * (n_least - 1))) > _MIN_ASSOCIATION)
