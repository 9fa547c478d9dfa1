"""Which columns a model leans on: how much each carries of the scores of people of the data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.clock import Clock
from fairness_engine.errors import FitError
from fairness_engine.explanation.shap_values import (
    AS_IT_IS,
    N_BACKGROUND,
    Masker,
    background_of,
    leave_uncompiled,
    n_varying_of,
    score_of,
)
from fairness_engine.measures.proxies.results import ShapShares
from fairness_engine.models.model import Model

MAX_PERMUTATIONS = 10
_ROWS = 2_000_000
"""Masked rows that the model is asked for, about; a table of very many columns takes up to twice as many."""
_LEAST_PEOPLE = 10


def shap_shares(
    model: Model,
    people: FloatArray,
    data_rows: FloatArray,
    names: tuple[str, ...],
    clock: Clock,
    report: Callable[[int], None] = lambda _: None,
) -> ShapShares:
    """The mean absolute SHAP value of each column by the sum over all columns.

    How many orders of the columns are drawn, and of how many people, follows from the number of columns alone: a faster
    machine gives the same figures.

    Args:
        model: what decides.
        people: rows of the engine without a missing cell ``(n_people, n_columns)``, at least one; of a table with very
            many columns the first of them.
        data_rows: rows of the data, at least one, of which some stand for what is left out ``(n_rows, n_columns)``.
        names: of the columns.
        clock: asked before every person.
        report: told how many rows the model was asked for, after every person.

    Raises:
        FitError: the model gives no number for some rows.
        SearchStopped: cancelled, or out of time.

    Reference: Lundberg and Lee (2017); the algorithm is ``shap.explainers.Permutation``, as for a pair.
    """
    from shap.explainers import PermutationExplainer

    leave_uncompiled()
    taken_names = model.taken(names)
    taken: IntArray = np.array([i for i, name in enumerate(names) if name in taken_names], dtype=np.int64)
    background = background_of(data_rows, N_BACKGROUND)
    rows_an_order = (2 * len(taken) + 1) * len(background)
    people = people[: max(_LEAST_PEOPLE, 2 * _ROWS // rows_an_order)]
    n_permutations = int(np.clip(_ROWS // (rows_an_order * len(people)), 1, MAX_PERMUTATIONS))
    masker = Masker(background[:, taken])
    total = np.zeros(len(names))
    n_asked = 0
    for person, n_varying in zip(people, n_varying_of(people, background, taken), strict=True):
        clock.check()
        score = _Counted(score_of(model, person, taken))
        explainer = PermutationExplainer(score, masker, **AS_IT_IS, seed=0)
        n_masks = n_permutations * (2 * n_varying + 1)
        values = explainer(person[None, taken], max_evals=n_masks, silent=True).values[0]
        total[taken] += np.abs(np.asarray(values, dtype=np.float64))
        n_asked += score.n_rows
        report(n_asked)
    if not np.isfinite(total).all():
        raise FitError("SHAP values need a number from the model for every row, and it gives none (NaN) for some.")
    shares = total / total.sum() if total.sum() > 0 else total
    named = dict(zip(names, shares.tolist(), strict=True))
    return ShapShares(named, len(people), len(background), n_permutations)


class _Counted:
    """A score that knows of how many rows it was asked for."""

    def __init__(self, score: Callable[[FloatArray], FloatArray]) -> None:
        self._score = score
        self.n_rows = 0

    def __call__(self, rows: FloatArray) -> FloatArray:
        self.n_rows += len(rows)
        return self._score(rows)
