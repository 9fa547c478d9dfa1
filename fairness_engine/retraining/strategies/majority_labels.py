"""The discriminatory individuals that a search found, each labelled by a majority (ADF, EIDIG), and those that remain
against the new model.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.models.model import Model
from fairness_engine.retraining.augmentation import (
    LabelledPeople,
    climb,
    cut_at,
    judged,
    near_people,
    with_some_variants,
)
from fairness_engine.retraining.strategy import Proposal, RoundContext, Rounds, people_of
from fairness_engine.retraining.trainers.trainer import Examples

DOSES = (1.0,)
"""Share of the individuals found, the cheapest first; ADF and EIDIG add 5 to 30 % of them, at random."""
_LEAST_GAIN = 0.9
_MOST_VARIANTS = 8
_FEW_ROWS = 10_000


def rounds(context: RoundContext) -> Rounds:
    """Add what a search found, as much as the tolerance allows; then search the new model, and add what remains.

    Reference: ADF and EIDIG, section on retraining. Departures: every variant of an individual is added, not the one
        that was found;
    the dose is found by bisection; and the search goes on against the new model, for what it was taught is the old
    one's gaps.
    """
    found = _cases(context, context.model)
    if not len(found):
        return
    training = _anchored(context)
    n_rounds = 0

    def propose(dose: float) -> Proposal:
        nonlocal n_rounds
        n_rounds += 1
        chosen = found.part(found.costs <= cut_at(found.costs, dose))
        return _proposal(
            context, training, chosen, f"{len(chosen):,} of {len(found):,} discriminatory individuals added"
        )

    standing = yield from climb(propose, DOSES, context.settings.max_rounds)
    best = 1.0 if standing is None else standing.objective
    is_whole = n_rounds == len(DOSES)
    while standing is not None and standing.is_within and is_whole and n_rounds < context.settings.max_rounds:
        more = _cases(context, standing.model)
        if not len(more):
            return
        n_before = len(found)
        found = found.and_more(more)
        title = f"{len(more):,} more added to the {n_before:,}, found against the model of the round before"
        n_rounds += 1
        standing = yield _proposal(context, training, found, title)
        if standing.objective > _LEAST_GAIN * best:
            return
        best = standing.objective


def _cases(context: RoundContext, model: Model) -> LabelledPeople:
    """Individuals found against a model, labelled once and for all by the labeller, which asks the original."""
    people = people_of(context.find_cases(model))
    return judged(context.model, context.domain, people, context.labeller.label(people))


def _anchored(context: RoundContext) -> Examples:
    """The training rows; for a network that few rows would teach by heart also people near them, who are decided alike
    already, as they are.
    """
    training = context.training
    inside = training.rows[context.is_inside]
    if len(training) >= _FEW_ROWS or not context.trainer.has_weights or not len(inside):
        return training
    people = near_people(context.domain, inside, _FEW_ROWS - len(training), context.rng)
    near = judged(context.model, context.domain, people)
    near = near.part(near.costs == 0)
    n_each = min(context.domain.n_variants, _MOST_VARIANTS)
    kept = with_some_variants(context.domain, near, np.inf, context.rng, n_each=n_each, keeps_rows=False)
    return training.and_more(kept)


def _proposal(context: RoundContext, training: Examples, people: LabelledPeople, title: str) -> Proposal:
    n_each = min(context.domain.n_variants, _MOST_VARIANTS)
    added = with_some_variants(context.domain, people, np.inf, context.rng, n_each=n_each, keeps_rows=False)
    title = f"{title}, labelled by {context.labeller.title}"
    examples = training.and_more(added)
    n_added = len(examples) - len(context.training)
    return Proposal(title, examples, n_added=n_added, facts={"n_people": len(people)})
