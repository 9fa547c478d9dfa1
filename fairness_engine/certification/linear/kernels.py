"""Compiled loops of linear models: weights of pairs of sorted sums within an interval."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def weigh_pairs(left, left_weights, right, right_sums, shifts, shift_weights, low, high):  # type: ignore[no-untyped-def]
    """The weight of all ``(i, j, k)`` with ``low < left[i] + right[j] + shifts[k] <= high``.

    Args:
        left: ``(n_left,)`` ascending, and its weights ``(n_left,)``; no weights for 1 each.
        right: ``(n_right,)`` ascending, and its weights summed up from the first on ``(n_right + 1,)``; none for 1
            each.
        shifts: ``(n_shifts,)``, and their weights.
        low, high: the interval; either may be infinite.
    """
    is_weighted = len(left_weights) > 0
    is_summed = len(right_sums) > 0
    n = len(right)
    total = 0.0
    for k in range(len(shifts)):
        above_low = above_high = n  # how many of `right` are at most the limit less the others
        part = 0.0
        for i in range(len(left)):
            base = left[i] + shifts[k]
            limit = low - base
            while above_low > 0 and right[above_low - 1] > limit:
                above_low -= 1
            limit = high - base
            while above_high > 0 and right[above_high - 1] > limit:
                above_high -= 1
            inside = right_sums[above_high] - right_sums[above_low] if is_summed else float(above_high - above_low)
            part += inside * left_weights[i] if is_weighted else inside
        total += part * shift_weights[k]
    return total


def warm_up() -> None:
    """Compile the loop for the types it is called with."""
    some = np.zeros(1)
    weigh_pairs(some, some, some, some, some, some, 0.0, 1.0)
