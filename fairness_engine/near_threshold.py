"""Who lies so near the threshold that the fast arithmetic cannot decide: decided by the model's own scores.

A share, a rate or "0 found" is of everybody: nobody is left out for lying where a search is fast.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairness_engine.events import FloatArray, IntArray
from fairness_engine.models.model import Model


def settled_margins(model: Model, margins: FloatArray, people: Callable[[IntArray], FloatArray]) -> FloatArray:
    """Margins of two classes whose sign is the decision: above 0 class 1, else class 0.

    Those that were nearer to 0 get the side of the decision that the model's scores make at full precision. It is the same evaluation,
    told more exactly, and not paid again.

    Args:
        model: with two classes.
        margins: as ``model.margins`` gives them ``(n_rows, 1)``; changed in place where that can be.
        people: the rows of the engine that margins at some positions belong to.
    """
    if model.rounding == 0:  # one arithmetic: its margins are the model's own
        return margins
    near = np.flatnonzero(np.abs(margins[:, 0]) <= model.rounding)
    if not len(near):
        return margins
    settled = np.require(margins, requirements="W")
    is_one = model.decide(model.scores(people(near))) == 1
    settled[near, 0] = np.where(is_one, model.rounding, -model.rounding)
    return settled


def settled_scores(
    model: Model, scores: FloatArray, score_gap: float, people: Callable[[IntArray], FloatArray]
) -> FloatArray:
    """Scores of people's variants, at full precision where those of the fast arithmetic leave open whether two of them make a pair.

    Args:
        scores: in the fast arithmetic ``(n_rows, n_variants, n_scores)``; changed in place.
        score_gap: 0, or how far scores must be apart.
        people: all variants of the rows at some positions, ``(n_positions * n_variants, n_columns)``, those of a row together.
    """
    near = _near(model, scores, score_gap)
    if len(near):
        scores[near] = model.scores(people(near)).reshape(len(near), *scores.shape[1:])
    return scores


def _near(model: Model, scores: FloatArray, score_gap: float) -> IntArray:
    """Positions of rows about which scores in the fast arithmetic ``(n_rows, n_variants, n_scores)`` do not decide.

    A score moves at most as far as the margin that it is made of, so the margins' rounding bounds its error.
    """
    if model.rounding == 0:
        return np.empty(0, dtype=np.int64)
    if score_gap > 0:
        is_near = np.abs(np.ptp(scores, axis=1).max(axis=1) - score_gap) <= 2 * model.rounding
    elif scores.shape[2] == 1:
        is_near = (np.abs(scores[:, :, 0] - model.threshold) <= model.rounding).any(axis=1)
    else:
        best = np.partition(scores, -2, axis=2)
        is_near = (best[:, :, -1] - best[:, :, -2] <= 2 * model.rounding).any(axis=1)
    return np.flatnonzero(is_near)
