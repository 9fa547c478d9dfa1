"""A share of the discriminatory individuals that a search found, each labelled by a majority (papers of ADF and EIDIG)."""

from __future__ import annotations

from fairness_engine.mitigation.labels import with_all_variants
from fairness_engine.mitigation.strategy import Context, Proposal, Rounds, people_of

SHARES = (0.1, 0.3, 1.0)
"""Of the individuals found."""


def rounds(context: Context) -> Rounds:
    """Each round adds a larger share of what was found."""
    training = context.training
    people = people_of(context.find_cases(context.model))
    if not len(people):
        return
    labels = context.labeller.label(people)
    for share in SHARES[: context.settings.max_rounds]:
        n = max(1, round(share * len(people)))
        chosen = context.rng.choice(len(people), size=n, replace=False)
        added = with_all_variants(context.domain, people[chosen], labels[chosen])
        title = f"{n:,} of {len(people):,} discriminatory individuals added, labelled by {context.labeller.title}"
        yield Proposal(title, training.and_more(added), n_added=len(added), facts={"n_people": n})
