"""Figures with their intervals, and what became of them, as pages write them. Nothing here is escaped."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fairness_engine.measures.results import Share
from fairness_engine.retraining.results import Interval
from pages.shared.app import wording

_ONE_DECIMAL = 0.01
"""Shares from here on are written with one decimal: a tolerance is half a point or one."""


class Unit(StrEnum):
    """How a figure is written."""

    SHARE = "share"
    POINTS = "points"
    PLAIN = "plain"


@dataclass(frozen=True)
class Figure:
    """A share, a difference of shares, or an AUC, with its 95 % interval, 0 to 1 each."""

    value: float
    low: float
    high: float
    unit: Unit = Unit.SHARE

    @classmethod
    def of(cls, found: Interval | Share | None, unit: Unit = Unit.SHARE) -> Figure | None:
        """``None`` where nothing was counted."""
        if found is None:
            return None
        if isinstance(found, Share):
            return cls(found.share, found.low, found.high, unit) if found.n else None
        return cls(found.value, found.low, found.high, unit)

    @property
    def text(self) -> str:
        """With its interval: ``93.9 % (92.2-95.2)``, ``27.6 points (24.1-30.0)``, ``0.983 (0.976-0.989)``, ``27.6
        points, counted``.
        """
        if self.unit is Unit.SHARE and self.value < _ONE_DECIMAL:
            return wording.share(self.value, self.low, self.high)
        if self.low == self.high and self.unit is Unit.POINTS:
            return f"{self.short}, counted"
        scale, decimals = (1, 3) if self.unit is Unit.PLAIN else (100, 1)
        return f"{self.short} ({scale * self.low:.{decimals}f}-{scale * self.high:.{decimals}f})"

    @property
    def short(self) -> str:
        """Without its interval; one decimal, so that a small change is seen: ``93.9 %``, ``0.041 %``, ``27.6 points``,
        ``0.983``. Of a share of which nothing was seen its upper bound: ``below 0.060 %``."""
        if self.unit is Unit.PLAIN:
            return f"{self.value:.3f}"
        if self.unit is Unit.POINTS:
            return f"{100 * self.value:.1f} points"
        if self.value == 0 < self.high:
            return wording.share(self.value, self.low, self.high)
        return f"{100 * self.value:.1f} %" if self.value >= _ONE_DECIMAL else wording.share(self.value)


def change_text(value: float, low: float, high: float) -> str:
    """A paired change in points with its interval: ``−4.2 (−5.9 to −2.6)``."""
    return f"{points(value)} ({points(low)} to {points(high)})"


def points(change: float) -> str:
    """A change of a share in points of a percent, with a real sign: ``+0.3``, ``−4.2``, ``0``."""
    value = 100 * change
    decimals = 2 if abs(value) < 1 else 1
    text = f"{abs(value):.{decimals}f}"
    if float(text) == 0:
        return "0"
    return f"{'+' if value > 0 else '−'}{text}"
