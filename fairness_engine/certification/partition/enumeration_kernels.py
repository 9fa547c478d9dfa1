"""Compiled loops over the individuals of small boxes."""

from __future__ import annotations

import numpy as np
from numba import njit

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_BITS_53 = 1.0 / 9007199254740992.0


@njit(cache=True, nogil=True)
def individuals_of(low, high, offsets, digits):  # type: ignore[no-untyped-def]  # numba infers the types
    """Everybody of boxes ``(n, D)``, into ``digits (n_points, D)``; those of box ``b`` from ``offsets[b]`` on, the last
    column fastest.
    """
    n_columns = low.shape[1]
    for b in range(len(low)):
        for p in range(offsets[b], offsets[b + 1]):
            rest = p - offsets[b]
            for i in range(n_columns - 1, -1, -1):
                n = high[b, i] - low[b, i] + 1
                digits[p, i] = low[b, i] + rest % n
                rest //= n


@njit(cache=True, nogil=True)
def tally(is_unfair, digits, offsets, sums, starts, certified, falsified):  # type: ignore[no-untyped-def]
    """Weights of those decided alike and differently, box by box; ``sums`` are running sums of the masses, from
    ``starts`` on.
    """
    for b in range(len(offsets) - 1):
        alike = 0.0
        differently = 0.0
        for p in range(offsets[b], offsets[b + 1]):
            weight = 1.0
            for i in range(digits.shape[1]):
                at = starts[i] + digits[p, i]
                weight *= sums[at + 1] - sums[at]
            if is_unfair[p]:
                differently += weight
            else:
                alike += weight
        certified[b] = alike
        falsified[b] = differently


@njit(cache=True, nogil=True, inline="always")
def _mixed(key):  # type: ignore[no-untyped-def]
    key = (key ^ (key >> np.uint64(30))) * _MIX_1
    key = (key ^ (key >> np.uint64(27))) * _MIX_2
    return key ^ (key >> np.uint64(31))


@njit(cache=True, nogil=True)
def drawn_inside(low, high, n_each, seed, digits):  # type: ignore[no-untyped-def]
    """``n_each`` individuals of every box, each digit uniform, into ``digits (n * n_each, D)``.

    Chance comes from the box itself and the seed (SplitMix64), so a box gets the same individuals whenever it is drawn
    from.
    """
    for b in range(len(low)):
        key = np.uint64(seed)
        for i in range(low.shape[1]):
            key = _mixed(key + _GOLDEN + np.uint64(low[b, i]))
            key = _mixed(key + _GOLDEN + np.uint64(high[b, i]))
        for p in range(b * n_each, (b + 1) * n_each):
            for i in range(low.shape[1]):
                key += _GOLDEN
                share = (_mixed(key) >> np.uint64(11)) * _BITS_53
                digits[p, i] = low[b, i] + np.int64(share * (high[b, i] - low[b, i] + 1))


def warm_up() -> None:
    """Compile or load every loop once."""
    digits = np.zeros((1, 1), np.int64)
    offsets = np.array([0, 1])
    weights = np.zeros(1)
    sums = np.array([0.0, 1.0])
    individuals_of(digits, digits, offsets, digits.copy())
    tally(np.zeros(1, np.bool_), digits, offsets, sums, offsets[:1], weights, weights.copy())
    drawn_inside(digits, digits, 1, 0, digits.copy())
