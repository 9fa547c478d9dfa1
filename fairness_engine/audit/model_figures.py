"""What a second look at a retrained model comes to, of a table or of texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

ROUNDING = 1e-9


@dataclass(frozen=True)
class FigureCheck:
    """One figure, looked at again.

    Args:
        name: ``accuracy``, ``data`` or ``uniform``.
        model: ``before`` or ``after`` the retraining.
        stored, low, high: as the run has it.
        again, n: what the opened file gives, on how many rows or draws.
        holds: whether that agrees: accuracy exactly; a share of the same rows within its interval; that of new draws
            when its own interval overlaps the stored one.
    """

    name: str
    model: str
    stored: float
    low: float
    high: float
    again: float
    n: int
    holds: bool


@dataclass(frozen=True)
class ModelCheck:
    """What became of the figures of a retraining.

    Args:
        figures: of the original and of the new model.
        groups_hold: whether who got better and worse, and all group figures, come out the same again.
    """

    figures: tuple[FigureCheck, ...]
    groups_hold: bool

    @property
    def n_contradictions(self) -> int:
        """How many do not hold."""
        return sum(not each.holds for each in self.figures) + (not self.groups_hold)

    def to_json(self) -> dict[str, Any]:
        """Plain numbers."""
        figures = [dict(vars(each)) for each in self.figures]
        return {"n_contradictions": self.n_contradictions, "figures": figures, "groups_hold": self.groups_hold}
