"""Counting the individuals of boxes on the sides of a linear bound, from below: the face of the compiled loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairness_engine.certification.counting_kernels import Masses, count_lines
from fairness_engine.events import FloatArray, IntArray


def make_masses(masses: Sequence[FloatArray]) -> Masses:
    """The weights of digits, a vector a column, as the loops take them."""
    lengths = np.array([len(mass) + 1 for mass in masses], dtype=np.int64)
    sums = [np.concatenate([[0.0], np.cumsum(mass)]) for mass in masses]
    begins = np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)
    return Masses(np.concatenate([*sums, np.empty(0)]), begins, all(bool((mass == 1.0).all()) for mass in masses))


def count_sides(
    coefficients: FloatArray,
    starts: IntArray,
    low: IntArray,
    high: IntArray,
    masses: Masses,
    thresholds: FloatArray,
    reach: FloatArray | None = None,
) -> FloatArray:
    """The weight of the individuals of boxes beyond the thresholds of a linear form, from below.

    Args:
        coefficients: ``(n, n_places)``, as in ``Certificates``: ``s(x)`` is their sum over the columns of ``x``.
        starts: where the places of each column begin ``(D + 1,)``.
        low, high: boxes ``(n, D)``.
        masses: of the digits, see ``make_masses``.
        thresholds: ``(n, 4)``.
        reach: how far a value may be from its digit's, in digits ``(D,)``; 0 where left out.

    Returns:
        ``(n, 3)``: where ``s > thresholds[:, 0]``; where ``s < thresholds[:, 1]``; where ``thresholds[:, 2] < s < thresholds[:, 3]``.
    """
    n, d = low.shape
    counted = np.zeros((n, 3))
    near = np.zeros(d) if reach is None else np.asarray(reach, dtype=np.float64)
    low, high = np.ascontiguousarray(low, dtype=np.int64), np.ascontiguousarray(high, dtype=np.int64)
    count_lines(
        np.ascontiguousarray(coefficients), starts, low, high, near, masses, np.ascontiguousarray(thresholds), counted
    )
    return counted
