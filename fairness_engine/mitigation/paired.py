"""The change of a share when the same rows are looked at twice: before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairness_engine.intervals import paired_interval

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

    Rows that stay what they were say nothing of a change, which is why the interval is narrower than what the two shares' own intervals
    leave open.

    Args:
        before, after: whether each row counts ``(n_rows,)``.
    """
    n = len(before)
    n_gained, n_lost = int((after & ~before).sum()), int((before & ~after).sum())
    value = (n_gained - n_lost) / n if n else 0.0
    return PairedChange(value, *paired_interval(n_gained, n_lost, n), n_gained, n_lost, n)
