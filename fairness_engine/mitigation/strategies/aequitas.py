"""Growing portions of discriminatory individuals, while the estimate falls (paper 000, Algorithm 5)."""

from __future__ import annotations

import math

from fairness_engine.mitigation.labels import with_all_variants
from fairness_engine.mitigation.strategy import Context, Proposal, Rounds, people_of

_N_AFTER_THE_BEST = 1
"""Rounds without a lower estimate before the search ends; the paper's is the first."""


def rounds(context: Context) -> Rounds:
    """Round i adds ``p_i`` % of the number of training rows, ``p_i`` drawn from ``(2^(i-2), 2^(i-1))``, i from 2 on.

    Reference: paper 000 (AEQUITAS), Algorithm 5. Departures: an individual is added with every variant, all of one label, since one
    of them alone teaches a model little of what it is to ignore.
    """
    training = context.training
    people = people_of(context.find_cases(context.model))
    if not len(people):
        return
    labels = context.labeller.label(people)
    best, n_worse = math.inf, 0
    for i in range(2, 2 + context.settings.max_rounds):
        portion = float(context.rng.uniform(2.0 ** (i - 2), 2.0 ** (i - 1)))
        n = min(len(people), max(1, round(portion * len(training) / 100)))
        chosen = context.rng.choice(len(people), size=n, replace=False)
        added = with_all_variants(context.domain, people[chosen], labels[chosen])
        facts = {"portion": portion, "n_people": n}
        title = f"{n:,} discriminatory individuals added ({100 * n / len(training):.2g} % of the training rows)"
        standing = yield Proposal(title, training.and_more(added), n_added=len(added), facts=facts)
        if standing.objective < best:
            best, n_worse = standing.objective, 0
        else:
            n_worse += 1
        if n_worse > _N_AFTER_THE_BEST or n == len(people):
            return
