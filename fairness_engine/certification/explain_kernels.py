"""Compiled loop that tells what was proved of boxes of a dense ReLU network: forms, thresholds, bounds and blame, for digits."""

from __future__ import annotations

import numpy as np
from numba import njit

from fairness_engine.certification.box_kernels import find_forms
from fairness_engine.certification.network_kernels import bound_box
from fairness_engine.certification.room_kernels import flatten, make_scratch, small_network


@njit(cache=True, nogil=True)
def explain_boxes(low, high, flat, coefficients, thresholds, bounds, blame, n_unstable):  # type: ignore[no-untyped-def]  # numba infers the types
    """Fill ``coefficients (n, 3, n_places)``, which come as 0, and the others as ``assessor.Certificates`` has them."""
    s = make_scratch(flat)
    forms = np.empty((3, len(flat.first)))
    for b in range(len(low)):
        n_columns, _, _ = bound_box(low[b], high[b], flat, s)
        n_unstable[b] = _count_unstable(flat, s)
        find_forms(n_columns, low[b], high[b], flat, s, forms, thresholds[b])
        bounds[b], blame[b] = s.bounds, s.blame
        _place_forms(n_columns, low[b], high[b], flat, s, forms, coefficients[b], thresholds[b])


@njit(cache=True, nogil=True)
def _count_unstable(flat, s):  # type: ignore[no-untyped-def]
    """Neurons of the last box that are neither always on nor always off."""
    n = 0
    for layer in range(len(flat.widths) - 1):
        for j in range(flat.widths[layer]):
            n += s.least[layer, j] < 0.0 and s.most[layer, j] > 0.0
    return n


@njit(cache=True, nogil=True)
def _place_forms(n_columns, low, high, flat, s, forms, coefficients, thresholds):  # type: ignore[no-untyped-def]
    """From forms over positions in the box to coefficients of digits; thresholds move so that they hold for whole cells."""
    for c in range(n_columns):
        i, begin = s.columns[c], s.begins[c]
        start = flat.starts[i]
        if flat.starts[i + 1] - start > 1:
            for f in range(3):
                for a in range(begin, s.begins[c + 1]):
                    coefficients[f, start + low[i] + a - begin] = forms[f, a]
            continue
        middle, width = 0.5 * (low[i] + high[i]), 0.5 * (high[i] - low[i]) + flat.reach[i]
        for f in range(3):
            coefficients[f, start] = forms[f, begin] / width
        for t in range(4):
            step, inward = coefficients[min(t, 2), start], 1.0 - 2.0 * (t % 2)
            thresholds[t] += step * middle + inward * abs(step) * flat.reach[i]


def warm_up() -> None:
    """Compile the loop, or load it from the cache."""
    flat = flatten(small_network())
    low, high = np.zeros((1, 1), np.int64), np.ones((1, 1), np.int64)
    forms, bounds = np.zeros((1, 3, len(flat.first))), np.zeros((1, len(flat.shifts), 2))
    explain_boxes(low, high, flat, forms, np.zeros((1, 4)), bounds, np.zeros((1, 1)), np.zeros(1, np.int64))
