"""Several strategies of retraining side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pages.components import retrain_result

if TYPE_CHECKING:
    from fairness_engine.runs.records import Review, RunRecord


def draw(review: Review, runs: Sequence[RunRecord]) -> None:
    """Retrainings that were started together and have ended."""
    for run in runs:
        retrain_result.draw(review, run)
