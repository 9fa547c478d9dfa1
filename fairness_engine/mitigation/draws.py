"""How many individuals an estimate draws: fewer of a slow model, in few steps, so that the same machine draws the same."""

from __future__ import annotations

from fairness_engine.events import FloatArray
from fairness_engine.models.model import Model, measure_rows_per_second

LEAST_DRAWS = 500
_SECONDS = 4.0
_STEPS = (1.0, 0.25, 0.05, 0.0)
"""Shares of the draws that are asked for: all, where the model decides them in time; else the next that it does."""
_SPEED_ROWS = 512


def affordable_draws(model: Model, n_variants: int, rows: FloatArray, n_asked: int) -> int:
    """Individuals for one estimate.

    Args:
        model: decides every variant of each.
        n_variants: of each.
        rows: of the data, to time the model on.
        n_asked: at most.
    """
    speed = measure_rows_per_second(model, rows[:_SPEED_ROWS], 0.0)
    most = speed * _SECONDS / n_variants
    return next(n for step in _STEPS if (n := max(LEAST_DRAWS, round(step * n_asked))) <= most or step == 0.0)
