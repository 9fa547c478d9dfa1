"""Intervals of group figures: of the ratio to the most favoured group, and of the largest gap between groups, whoever these are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairness_engine.events import FloatArray
from fairness_engine.group_report import Bounded
from fairness_engine.intervals import clopper_pearson

BoolArray = NDArray[np.bool_]


def impact_ratios(share: FloatArray, low: FloatArray, high: FloatArray, is_compared: BoolArray) -> list[Bounded | None]:
    """Selection rates of groups by that of the most favoured group compared.

    Which group is the most favoured is itself uncertain. If all shares lie in their intervals, the largest of the *other* groups
    compared lies between the largest lower and the largest upper end, so these bound the ratio, whoever it is. The ends hold
    jointly when those of the shares do, with nothing assumed of how large the groups are.

    Args:
        share, low, high: selection rate of each group with an interval ``(n_groups,)`` each, 0 to 1.
        is_compared: which groups are a measure for others ``(n_groups,)``.

    Returns:
        One a group, at most 1; ``None`` where there is no other group, or none in which anybody is favoured.
    """
    best = share[is_compared].max(initial=0.0)
    out: list[Bounded | None] = []
    for i in range(len(share)):
        others = is_compared.copy()
        others[i] = False
        if best == 0 or not others.any():
            out.append(None)
            continue
        least, most = low[others].max(), high[others].max()
        ends = (min(1.0, low[i] / most), min(1.0, high[i] / least) if least > 0 else 1.0)
        out.append(between(min(1.0, share[i] / best), *ends))
    return out


def odds_ends(hits: FloatArray, n: FloatArray, alpha: float) -> tuple[float, float]:
    """Ends of the equalised odds difference, wrong with probability ``alpha`` at most, whichever groups are the furthest apart.

    Args:
        hits, n: rows decided for the person, and rows, by group and by whether the label is favourable ``(n_groups, 2)``.
        alpha: 0 to 1.
    """
    low, high = (ends.reshape(n.shape) for ends in clopper_pearson(hits.ravel(), n.ravel(), alpha / n.size))
    least, most = low.max(axis=0) - high.min(axis=0), high.max(axis=0) - low.min(axis=0)
    return max(0.0, float(least.max())), float(most.max())


def between(value: float, low: float, high: float) -> Bounded:
    """A figure with its ends, which rounding in the last place must not put on the wrong side of it."""
    value = float(value)
    return Bounded(value, min(float(low), value), min(1.0, max(float(high), value)))
