"""What a retraining has tried so far: every round with how it stands, and the epochs of its trainings."""

from __future__ import annotations

import math
from typing import Any

from fairness_engine.mitigation.strategy import Proposal, Standing
from fairness_engine.mitigation.trainer import Epoch

MAX_EPOCHS = 1_200
"""Points of the curve that are kept; beyond, every second one is left out, evenly, and the latest one is always there."""

EpochPoint = list[float | int | None]


class RoundsLog:
    """Rounds, numbered from 1 on in the order in which they were trained, the control among them.

    Attributes:
        rows: what the result ``training`` holds of each.
        n_within: rounds within the tolerance, on the rows that test too.
    """

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.n_within = 0
        self._epochs: list[EpochPoint] = []
        self._last: EpochPoint = []
        self._n_epochs, self._stride = 0, 1

    @property
    def next_number(self) -> int:
        """Of the round that is being trained."""
        return len(self.rows) + 1

    @property
    def proposed(self) -> list[dict[str, Any]]:
        """The rounds that a strategy proposed: all but the control."""
        return [row for row in self.rows if not row["is_control"]]

    def note_epoch(self, epoch: Epoch) -> None:
        """Keep a point of the curve of the round that is being trained; a loss that ran away is none."""
        values = (epoch.loss, epoch.validation_loss, epoch.validation_accuracy)
        self._last = [self.next_number, epoch.epoch, *map(_plain, values)]
        if self._n_epochs % self._stride == 0:
            self._epochs.append(self._last)
        self._n_epochs += 1
        if len(self._epochs) > MAX_EPOCHS:
            self._epochs, self._stride = self._epochs[::2], 2 * self._stride

    def note(
        self,
        proposal: Proposal,
        standing: Standing,
        *,
        is_best: bool = False,
        is_vetoed: bool = False,
        is_control: bool = False,
        no_file: str = "",
    ) -> int:
        """Keep a round; a new best one takes the mark from the one before.

        Args:
            no_file: why its model cannot become a file, where it would have been the best; such a one is not kept.

        Returns:
            its number.
        """
        if is_best:
            for row in self.rows:
                row["is_best"] = False
        self.n_within += standing.is_within and not (is_control or is_vetoed)
        self.rows.append(
            {
                "title": proposal.title,
                "n_added": proposal.n_added,
                "facts": dict(proposal.facts),
                "accuracy": standing.accuracy,
                "uniform": standing.uniform,
                "data": standing.data,
                "objective": standing.objective,
                "is_within": standing.is_within,
                "is_best": is_best,
                "is_vetoed": is_vetoed,
                "is_control": is_control,
                "no_file": no_file,
            }
        )
        return len(self.rows)

    def n_vetoed(self, objective: float) -> int:
        """Rounds that would have been chosen before one with this objective, but for the test rows."""
        return sum(row["is_vetoed"] and row["objective"] <= objective for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """The result ``training``."""
        latest = [self._last] if self._last and self._last is not self._epochs[-1] else []
        return {"rounds": [dict(row) for row in self.rows], "epochs": [*self._epochs, *latest]}


def _plain(value: float | None) -> float | None:
    """A number for a chart: six digits, so that the curve of a long run stays short; ``None`` for what JSON has no number for."""
    return float(f"{value:.6g}") if value is not None and math.isfinite(value) else None
