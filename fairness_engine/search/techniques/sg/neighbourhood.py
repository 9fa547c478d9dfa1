"""LIME's neighbourhoods: the real package's statistics, bins and kernel, drawn for many people at once.

``lime`` makes a neighbourhood column by column: a bin by the data's frequencies, then a value inside the bin (for a
number, normal around the bin's mean and cut to the bin), and weighs each row by how many columns fall into another bin
than the person's. On a lattice the value that reaches the model, rounded and clipped into the domain, is one of
finitely many, so both draws are one draw from a table. The tables are made from a ``LimeTabularExplainer`` and hold its
distribution exactly; a test compares both. What is drawn this way takes a twentieth of the package's own time.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.data.schema import Kind
from fairness_engine.oracle.domain import Domain

_MAX_TABLED_VALUES = 1024
"""A lattice column of numbers with more values is drawn as a continuous one is, and rounded."""
_MIN_DATA_ROWS = 100
_MAX_DATA_ROWS = 50_000
"""Statistics of fewer rows would be no distribution; those of more are not better."""


class Neighbourhood:
    """Draws LIME's neighbourhoods around rows of a domain.

    Protected columns are drawn like all others, as the paper's are: its paths have predicates on them. Fixed columns
    keep the person's value. Numbers are rounded to the column's lattice and clipped to its range.

    Args:
        data_rows: rows of the data ``(n_rows, n_columns)``; uniform rows are added to fewer than a hundred.
        domain: where neighbours have to lie.
        rng: for the uniform rows, and for a choice among very many rows.
    """

    def __init__(self, data_rows: FloatArray, domain: Domain, rng: np.random.Generator) -> None:
        from lime.lime_tabular import LimeTabularExplainer  # loaded when a search begins, not by the app

        rows = _reference(data_rows, domain, rng)
        categorical = [i for i, column in enumerate(domain.schema.inputs) if column.kind is Kind.CATEGORICAL]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column of one value has no spread
            self.explainer: Any = LimeTabularExplainer(rows, categorical_features=categorical)
        self._domain = domain
        drawn = [i for i in range(domain.n_columns) if i not in domain.fixed]
        is_short = (domain.step > 0) & (domain.n_values <= _MAX_TABLED_VALUES)
        is_tabled = {i: i in categorical or bool(is_short[i]) for i in drawn}
        self._tables = _Tables(self.explainer, domain, [i for i in drawn if is_tabled[i]])
        self._wide = [_WideColumn(self.explainer, domain, i) for i in drawn if not is_tabled[i]]
        kernel: partial[Any] = self.explainer.base.kernel_fn
        weights = np.asarray(kernel(np.sqrt(np.arange(domain.n_columns + 1.0))), dtype=np.float64)
        self._kernel: FloatArray = np.round(weights, 12)  # the last bits of NumPy's exponential are the processor's

    def draw(self, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Fill a neighbourhood around a person.

        Args:
            rows: the person, in every row ``(n, n_columns)``; all but the first are overwritten.
            rng: the only source of chance.

        Returns:
            LIME's kernel of each row's distance to the person ``(n,)``, 1 for the person.
        """
        person = rows[0].copy()
        own_bins = np.asarray(self.explainer.discretizer.discretize(person), dtype=np.int64)
        n_differ = self._tables.draw(rows, own_bins, rng)
        for column in self._wide:
            n_differ += column.draw(rows, own_bins, rng)
        rows[0] = person
        n_differ[0] = 0
        return self._kernel[n_differ]


class _Tables:
    """The lattice columns: for each, all outcomes ``(bin, value)`` with their shares."""

    def __init__(self, explainer: Any, domain: Domain, columns: list[int]) -> None:
        from fairness_engine.search.techniques.sg import kernels

        self._columns: IntArray = np.array(columns, dtype=np.int64)
        outcomes = [_outcomes(explainer, domain, i) for i in columns]
        sizes = [len(shares) for _, _, shares in outcomes]
        self._first: IntArray = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        empty: list[Any] = [np.empty(0)]
        self._bins: IntArray = np.concatenate([bins for bins, _, _ in outcomes] or empty).astype(np.int64)
        self._values: FloatArray = np.concatenate([values for _, values, _ in outcomes] or empty)
        self._cumulative: FloatArray = np.concatenate([_cumulative(shares) for _, _, shares in outcomes] or empty)
        cells = np.arange(kernels.GUIDE) / kernels.GUIDE
        guides = [
            start + np.searchsorted(self._cumulative[start:end], cells, side="right")
            for start, end in zip(self._first[:-1], self._first[1:], strict=True)
        ]
        self._guide: IntArray = np.array(guides, dtype=np.int64).reshape(len(columns), kernels.GUIDE)

    def draw(self, rows: FloatArray, own_bins: IntArray, rng: np.random.Generator) -> IntArray:
        """Fill the columns of ``rows``; returns in how many of them each row has another bin than the person."""
        from fairness_engine.search.techniques.sg import kernels

        uniforms = rng.random((len(rows), len(self._columns)))
        n_differ: IntArray = np.zeros(len(rows), dtype=np.int64)
        tables = (self._columns, self._cumulative, self._guide, self._bins, self._values)
        kernels.draw_rows(uniforms, *tables, own_bins, rows, n_differ)
        return n_differ


class _WideColumn:
    """A continuous column, or a lattice too fine for a table: a bin by its frequency, then a value inside it."""

    def __init__(self, explainer: Any, domain: Domain, column: int) -> None:
        from scipy.special import ndtr

        self._column = column
        self._low = domain.low[column]
        self._high = domain.high[column]
        self._step = domain.step[column]
        self._bins, shares, edges, self._means, self._stds = _bins_of(explainer, column)
        self._cumulative = _cumulative(shares)
        self._edges = edges
        self._from = ndtr((edges[0] - self._means) / self._stds)
        self._to = ndtr((edges[1] - self._means) / self._stds)

    def draw(self, rows: FloatArray, own_bins: IntArray, rng: np.random.Generator) -> IntArray:
        """Fill the column of ``rows``; returns 1 for each row that has another bin than the person."""
        from scipy.special import ndtri

        uniforms = rng.random((2, len(rows)))
        at = np.searchsorted(self._cumulative, uniforms[0], side="right")
        inner = self._from[at] + uniforms[1] * (self._to - self._from)[at]
        values = self._means[at] + self._stds[at] * ndtri(inner)
        values = np.clip(values, self._edges[0][at], self._edges[1][at])
        if self._step > 0:
            values = self._low + self._step * np.rint((values - self._low) / self._step)
        rows[:, self._column] = np.clip(values, self._low, self._high)
        return np.asarray(self._bins[at] != own_bins[self._column], dtype=np.int64)


def _reference(data_rows: FloatArray, domain: Domain, rng: np.random.Generator) -> FloatArray:
    """The rows that LIME takes its statistics from."""
    if len(data_rows) > _MAX_DATA_ROWS:
        return data_rows[np.sort(rng.choice(len(data_rows), _MAX_DATA_ROWS, replace=False))]
    if len(data_rows) >= _MIN_DATA_ROWS:
        return data_rows
    return np.concatenate([data_rows, domain.sample(_MIN_DATA_ROWS * 10, rng, data_rows)])


def _outcomes(explainer: Any, domain: Domain, column: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Every ``(bin, value)`` that a lattice column can take in a neighbourhood, and its share."""
    from scipy.special import ndtr

    if column not in explainer.discretizer.means:  # categorical: the bin is the value
        values = np.asarray(explainer.feature_values[column], dtype=np.float64)
        return values.astype(np.int64), values, np.asarray(explainer.feature_frequencies[column])
    bins, shares, (lowest, highest), means, stds = _bins_of(explainer, column)
    low = domain.low[column]
    step = domain.step[column]
    lattice = low + step * np.arange(int(domain.n_values[column]))
    cuts = np.concatenate([[-np.inf], lattice[:-1] + step / 2, [np.inf]])  # what is rounded, and clipped, to each value
    inside = np.clip(cuts[None, :], lowest[:, None], highest[:, None])
    mass = np.diff(ndtr((inside - means[:, None]) / stds[:, None]), axis=1)
    for i in np.flatnonzero(mass.sum(axis=1) <= 0):  # a bin of one value, or too far from its mean to have mass
        mass[
            i,
            np.clip(np.rint((np.clip(means[i], lowest[i], highest[i]) - low) / step), 0, len(lattice) - 1).astype(int),
        ] = 1
    mass *= (shares / mass.sum(axis=1))[:, None]
    at_bin, at_value = np.nonzero(mass)
    return bins[at_bin], lattice[at_value], mass[at_bin, at_value]


def _bins_of(
    explainer: Any, column: int
) -> tuple[IntArray, FloatArray, tuple[FloatArray, FloatArray], FloatArray, FloatArray]:
    """The bins of a number that occur in the data: which, shares, (lowest, highest), means, standard deviations."""
    discretizer = explainer.discretizer
    bins = np.asarray(explainer.feature_values[column], dtype=np.int64)
    lowest, highest, means, stds = (
        np.asarray(getattr(discretizer, name)[column], dtype=np.float64)[bins]
        for name in ("mins", "maxs", "means", "stds")
    )
    return bins, np.asarray(explainer.feature_frequencies[column]), (lowest, highest), means, stds


def _cumulative(shares: FloatArray) -> FloatArray:
    sums = np.cumsum(shares)
    sums[-1] = 2.0  # above every uniform number, whatever was lost to rounding
    return sums
