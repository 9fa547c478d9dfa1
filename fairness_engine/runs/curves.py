"""What several runs of one search come to together: medians with ranges, and curves that go no further than a run has been."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from fairness_engine.events import FloatArray, IntArray

_N_EVEN_POINTS = 101
_N_EARLY_POINTS = 61
"""Points of a curve's grid: evenly spaced, and closer together near the beginning, for a logarithmic axis."""


@dataclass(frozen=True)
class Spread:
    """A figure over the seeds.

    Args:
        median, low, high: of the runs that have it; the range is the whole one.
        n: how many runs that is.
    """

    median: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Curve:
    """Individuals found so far, over the seeds; ``(n_points,)`` each.

    Args:
        x: evaluations or seconds, ascending from 0. The same grid for all lines of a comparison, cut where the line ends.
        median, low, high: over the runs that have come at least as far as ``x``.
        n_runs: how many runs that is.
    """

    x: FloatArray
    median: FloatArray
    low: FloatArray
    high: FloatArray
    n_runs: IntArray


def spread_of(values: Iterable[float | None]) -> Spread | None:
    """Median and range of the values that are there; ``None`` when none is."""
    there = [float(value) for value in values if value is not None]
    if not there:
        return None
    return Spread(float(np.median(there)), min(there), max(there), len(there))


def common_grid(reached: Iterable[FloatArray], *, whole: bool) -> FloatArray:
    """Where all curves are read, from 0 to the furthest that any run has come."""
    top = max((float(x[-1]) for x in reached if len(x)), default=0.0)
    if top <= 0:
        return np.zeros(1)
    early = np.geomspace(min(1.0 if whole else 0.1, top), top, _N_EARLY_POINTS)
    points = np.concatenate([np.linspace(0.0, top, _N_EVEN_POINTS), early])
    return np.unique(np.minimum(np.rint(points), top) if whole else points)


def found_curve(steps: Sequence[tuple[FloatArray, FloatArray]], grid: FloatArray) -> Curve:
    """Median and range at each point of the grid over the runs that have come that far; nothing is continued beyond.

    The last point is where the furthest run ends, and gathers the ends of all that passed the grid's point before: searches of one
    budget end a few rows apart, and what they found last would be lost.

    Args:
        steps: of each run where it was heard of, ascending, and what it had found there ``(n_steps,)``.
        grid: ascending from 0.
    """
    known = [(x, found) for x, found in steps if len(x)]
    if not known:
        nothing = np.empty(0)
        return Curve(nothing, nothing, nothing, nothing, np.empty(0, dtype=np.int64))
    reach = np.array([x[-1] for x, _ in known])
    points = grid[(grid < reach.max()) | (grid == 0)]
    rows = np.array([_found_at(x, found, points) for x, found in known])
    if reach.max() > points[-1]:
        ends = [found[-1] if x[-1] >= points[-1] else np.nan for x, found in known]
        points, rows = np.append(points, reach.max()), np.column_stack([rows, ends])
    n_runs = np.count_nonzero(np.isfinite(rows), axis=0)
    return Curve(points, np.nanmedian(rows, axis=0), np.nanmin(rows, axis=0), np.nanmax(rows, axis=0), n_runs)


def _found_at(x: FloatArray, found: FloatArray, points: FloatArray) -> FloatArray:
    """How many a run is known to have found at each point: the last it said; NaN beyond where it has been."""
    last = np.searchsorted(x, points, side="right") - 1
    values = np.where(last >= 0, found[np.maximum(last, 0)], 0.0)
    return np.where(points <= x[-1], values, np.nan)
