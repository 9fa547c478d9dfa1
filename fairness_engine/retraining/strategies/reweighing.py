"""Rows weighed so that group and outcome are independent in the training data (Kamiran and Calders)."""

from __future__ import annotations

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.retraining.evaluation.protected_groups import ProtectedGroups, large_groups
from fairness_engine.retraining.strategy import Proposal, RoundContext, Rounds
from fairness_engine.retraining.trainers.trainer import Examples

LEAST_ROWS = 10
"""Of each of two outcomes; rows of smaller groups are weighed together."""
_STRENGTHS = (1.0, 0.75, 0.5, 0.25)


def rounds(context: RoundContext) -> Rounds:
    """The full weights first; where accuracy falls too far, the weights to a power below 1.

    Groups are the intersections of the scope's protected attributes, numbers cut into ranges as for rule sets. An
    estimator whose ``fit`` takes no weights gets rows as often as they weigh.

    Reference: Kamiran and Calders (2012), "Reweighing". The powers below 1 are ours.
    """
    training = context.training
    codes = ProtectedGroups(context.dataset.schema, context.domain.scope.protected).codes(training.rows)
    known, group = large_groups(codes, training.labels, LEAST_ROWS)
    full = reweighing(group, training.labels)
    for strength in _STRENGTHS[: context.settings.max_rounds]:
        weights = full**strength
        how = "" if strength == 1 else f", to the power {strength:g}"
        title = f"rows weighed so that outcome and group are independent, {len(known):,} groups{how}"
        facts = {"n_groups": len(known), "least_weight": float(weights.min()), "most_weight": float(weights.max())}
        standing = yield Proposal(title, Examples(training.rows, training.labels, weights), facts=facts)
        if standing.is_within:
            return


def reweighing(group: IntArray, labels: IntArray) -> FloatArray:
    """The weight of each row: how often its group and outcome would meet by chance, by how often they do ``(n_rows,)``.

    Args:
        group: number of each row's group ``(n_rows,)``.
        labels: outcome ``(n_rows,)``.
    """
    counts = np.zeros((int(group.max()) + 1, int(labels.max()) + 1))
    np.add.at(counts, (group, labels), 1)
    by_chance = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / len(labels)
    weights = np.divide(by_chance, counts, out=np.ones_like(counts), where=counts > 0)
    found: FloatArray = weights[group, labels]
    return found
