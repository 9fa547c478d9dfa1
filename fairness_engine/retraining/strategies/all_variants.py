"""Every training row with all its protected values, and people of the whole domain labelled by the majority of their
variants.
"""

from __future__ import annotations

import numpy as np

from fairness_engine.retraining.augmentation import (
    LabelledPeople,
    climb,
    cut_at,
    judged,
    near_people,
    with_some_variants,
)
from fairness_engine.retraining.strategy import Proposal, RoundContext, Rounds
from fairness_engine.retraining.trainers.trainer import Examples

DOSES = (1.0, 3.0)
"""Up to 1: the share of those who are not decided alike that is to be, the cheapest first. Above: drawn people beside
the rows of the data, as multiples of those."""
_NEAR = 1 / 3
"""Share of the people who are drawn near the data's rows instead of uniformly: what a network decides there is its
accuracy.
"""
_LEAST_PEOPLE = 10_000
_LEAST_PEOPLE_FITTED = 2_000
"""Few rows tell little of a large domain, and a network soon knows them by heart: at least so many people are drawn for
a dose of 1, for a network and for an estimator."""
_MOST_VARIANTS = 8
_MOST_VARIANTS_FITTED = 4
"""Variants of a person at most: of a network, and of an estimator, whose time to fit may grow with the square of the
rows.
"""


def rounds(context: RoundContext) -> Rounds:
    """Rows of the data keep their label and take every protected value: what the outcome owes to a protected attribute
    is gone.

    That leaves the parts of the domain where there is no data; people drawn there, and near the data, are labelled by
    the model's own majority, which also keeps a network from knowing few rows by heart. Where the outcomes themselves
    discriminate, every person decided alike costs accuracy: then those are, as many as the tolerance allows, whom the
    model all but decides alike already.
    """
    yield from climb(_Doses(context).propose, DOSES, context.settings.max_rounds)


class _Doses:
    """What each dose is made of: the rows and the drawn people are the same for all. The model is asked for what a dose
    needs only.
    """

    def __init__(self, context: RoundContext) -> None:
        self.context = context
        domain = context.domain
        training = context.training
        inside = context.is_inside
        validation = context.validation
        is_held = domain.contains(validation.rows)
        self.rows = LabelledPeople.unjudged(training.rows[inside], training.labels[inside])
        self.held = LabelledPeople.unjudged(validation.rows[is_held], validation.labels[is_held])
        self.outside = Examples(training.rows[~inside], training.labels[~inside])
        n = self._n_held + self._n_people(DOSES[-1])
        near = near_people(domain, self.rows.rows, int(_NEAR * n) if len(self.rows) else 0, context.rng)
        people = np.concatenate([domain.sample(n - len(near), context.rng, training.rows), near])
        self.people = context.rng.permutation(people)
        self.drawn = LabelledPeople.unjudged(self.people[:0], np.empty(0, dtype=np.int64))
        self.is_judged = False

    @property
    def _n_held(self) -> int:
        """Drawn people who are not trained on: they tell when to end."""
        return max(len(self.held), self._n_people(1.0) // 8)

    def _n_people(self, dose: float) -> int:
        least = _LEAST_PEOPLE if self.context.trainer.has_weights else _LEAST_PEOPLE_FITTED
        return int(max(1.0, dose) * max(len(self.rows), least))

    def _prepare(self, dose: float) -> None:
        """Label the people of a dose, and find what it would cost to decide whom alike where it does not reach all of
        them.
        """
        context = self.context
        n = self._n_held + self._n_people(dose)
        if n > len(self.drawn):
            context.say(f"labelling {n - len(self.drawn):,} people")
            more = self.people[len(self.drawn) : n]
            self.drawn = self.drawn.and_more(LabelledPeople.unjudged(more, context.labeller.label(more)))
        if dose < 1 and not self.is_judged:
            context.say("looking for people whose variants are decided unlike")
            self.drawn = self.drawn.part(slice(n))
            self.rows, self.held, self.drawn = (
                judged(context.model, context.domain, people.rows, people.labels)
                for people in (self.rows, self.held, self.drawn)
            )
            self.is_judged = True

    def propose(self, dose: float) -> Proposal:
        """All variants of those that the dose reaches, and people of the domain."""
        self._prepare(dose)
        context = self.context
        n_held = self._n_held
        n_people = self._n_people(dose)
        cut = cut_at(self.rows.costs, dose)
        train = self._examples(self.rows, self.drawn.part(slice(n_held, n_held + n_people)), cut)
        stopping = self._examples(self.held, self.drawn.part(slice(n_held)), cut)
        if len(self.outside):
            train = train.and_more(self.outside)
        share = "" if dose >= 1 else f" for the {100 * dose:.3g} % that cost least"
        title = f"all variants of every training row, and of {n_people:,} people of the domain{share}"
        facts = {"dose": dose, "n_people": n_people}
        return Proposal(title, train, n_added=len(train) - len(context.training), facts=facts, stopping=stopping)

    def _examples(self, rows: LabelledPeople, drawn: LabelledPeople, cut: float) -> Examples:
        context = self.context
        most = _MOST_VARIANTS if context.trainer.has_weights else _MOST_VARIANTS_FITTED
        n_each = min(context.domain.n_variants, most)
        first, second = (
            with_some_variants(context.domain, people, cut, context.rng, n_each=n_each, keeps_rows=people is rows)
            for people in (rows, drawn)
        )
        return first.and_more(second)
