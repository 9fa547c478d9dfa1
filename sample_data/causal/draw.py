"""Draws from a causal model. Only uniform numbers are taken from the generator, so that the files come out the same
with every version of NumPy that has the same bit generator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairness_engine.arrays import FloatArray, IntArray


def choose(rng: np.random.Generator, weights: FloatArray) -> IntArray:
    """One category a row: ``weights`` is ``(n_rows, n_categories)``, not necessarily normalised; gives
    ``(n_rows,)``.
    """
    cumulative = np.cumsum(np.maximum(weights, 0.0), axis=1)
    drawn = rng.random(len(weights)) * cumulative[:, -1]
    return np.minimum((drawn[:, None] >= cumulative).sum(axis=1), weights.shape[1] - 1).astype(np.int64)


def table(weights: list[list[float]], row: IntArray) -> FloatArray:
    """Weights that depend on one cause: line ``row[i]`` of a table, ``(n_rows, n_categories)``."""
    return np.array(weights, dtype=np.float64)[row]


def happens(rng: np.random.Generator, chance: FloatArray) -> NDArray[np.bool_]:
    """One coin a row with its own chance of True ``(n_rows,)``."""
    return rng.random(len(chance)) < chance


def bell(rng: np.random.Generator, mean: FloatArray, spread: float, low: float, high: float) -> FloatArray:
    """Whole numbers around a mean, within closed limits: the sum of three uniforms has this standard deviation."""
    noise = 2.0 * spread * (rng.random((len(mean), 3)).sum(axis=1) - 1.5)
    return np.clip(np.rint(mean + noise), low, high) + 0.0  # no negative zero


def decided(rng: np.random.Generator, totals: IntArray, cut: int, noise: float) -> IntArray:
    """Labels 0 or 1: the logistic curve of the distance from the cut, ``noise`` points wide."""
    chance = 1.0 / (1.0 + np.exp(-(totals - cut + 0.5) / noise))
    return happens(rng, chance).astype(np.int64)
