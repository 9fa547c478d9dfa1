"""The change of a share when the same rows are looked at twice: before and after."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.intervals import Z_95

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class PairedChange:
    """How a share of the same rows changed.

    Args:
        value: share after less share before, -1 to 1.
        low, high: its 95 % interval.
        n_gained: rows that count after and did not before.
        n_lost: rows that counted before and do not after.
        n: rows.
    """

    value: float
    low: float
    high: float
    n_gained: int
    n_lost: int
    n: int

    @property
    def is_fall(self) -> bool:
        """The whole interval lies below 0."""
        return self.high < 0

    @property
    def is_rise(self) -> bool:
        """The whole interval lies above 0."""
        return self.low > 0

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        return dict(vars(self))


def paired_change(before: BoolArray, after: BoolArray) -> PairedChange:
    """The change of the share of rows that count.

    The interval is that of Bonett and Price: one row more is counted as gained and one as lost, so that few changes, or none, do not
    make an interval without a width. Rows that stay what they were say nothing of a change, which is why this interval is narrower
    than what the two shares' own intervals leave open.

    Args:
        before, after: whether each row counts ``(n_rows,)``.

    Reference: Bonett and Price (2012), adjusted Wald interval of a difference of paired proportions; the rows that change are McNemar's.
    """
    n = len(before)
    n_gained, n_lost = int((after & ~before).sum()), int((before & ~after).sum())
    if not n:
        return PairedChange(0.0, -1.0, 1.0, 0, 0, 0)
    gained, lost = (n_gained + 1) / (n + 2), (n_lost + 1) / (n + 2)
    centre, half = gained - lost, Z_95 * math.sqrt((gained + lost - (gained - lost) ** 2) / (n + 2))
    value = (n_gained - n_lost) / n
    return PairedChange(
        value, max(-1.0, min(value, centre - half)), min(1.0, max(value, centre + half)), n_gained, n_lost, n
    )
