"""Which discriminatory individuals have a pair of two people who could exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fairness_engine.measures.plausibility.plausibility import Plausibility
    from fairness_engine.models.model import Model
    from fairness_engine.oracle.domain import Domain

MAX_JUDGED = 200_000
"""Variants of people that are judged whether they could exist, two seconds' work at most beside the model's."""
MAX_AT_ONCE = 50_000


def plausible_finds(
    model: Model, domain: Domain, rows: FloatArray, plausibility: Plausibility
) -> Iterator[tuple[int, int]]:
    """How many of some discriminatory individuals ``(n_rows, n_columns)`` have such a pair, and of how many, a part at
    a time.
    """
    n_rows = max(1, MAX_AT_ONCE // domain.n_variants)
    for start in range(0, len(rows), n_rows):
        part = rows[start : start + n_rows]
        yield int(_have_plausible_pair(model, domain, part, plausibility).sum()), len(part)


def _have_plausible_pair(model: Model, domain: Domain, rows: FloatArray, plausibility: Plausibility) -> BoolArray:
    n_variants = domain.n_variants
    people = domain.variants(rows).reshape(-1, domain.n_columns)
    is_out = ~plausibility.are_plausible(people).reshape(-1, n_variants)
    scores = model.scores(people)
    gap = domain.scope.score_gap
    told_apart = scores if gap > 0 else model.decide(scores)[:, None].astype(np.float64)
    values = told_apart.reshape(len(rows), n_variants, -1)
    least = np.where(is_out[:, :, None], np.inf, values).min(axis=1)
    most = np.where(is_out[:, :, None], -np.inf, values).max(axis=1)
    return np.asarray((most - least > gap).any(axis=1))
