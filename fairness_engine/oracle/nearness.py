"""What a search asks that is to find people who could exist only; ``measures.plausibility.Plausibility`` answers."""

from __future__ import annotations

from typing import Protocol

from fairness_engine.arrays import BoolArray, FloatArray, IntArray


class Nearness(Protocol):
    """Says who could exist, without asking the model."""

    def plausible_variants(self, rows: FloatArray, chosen: IntArray | None = None) -> BoolArray:
        """Which variants of individuals ``(n_rows, n_columns)`` could exist ``(n_rows, n_variants)``, or which of those
        chosen ``(n_rows, n_chosen)``.
        """
        ...
