"""Every training row with all its protected values, and people of the whole domain labelled by the majority of their variants."""

from __future__ import annotations

from fairness_engine.mitigation.labels import with_all_variants
from fairness_engine.mitigation.strategy import Context, Proposal, Rounds

PORTIONS = (0.0, 1.0, 3.0)
"""Uniform people beside the rows of the data, as multiples of those."""


def rounds(context: Context) -> Rounds:
    """Rows of the data keep their label and take every protected value: what the outcome owes to a protected attribute is gone.

    That leaves the parts of the domain where there is no data; people drawn there are labelled by the model's own majority.
    """
    training = context.training
    base = with_all_variants(context.domain, training.rows, training.labels, share_weight=context.domain.n_variants > 8)
    for portion in PORTIONS[: context.settings.max_rounds]:
        n_people = int(portion * len(training))
        examples, title = base, "all variants of every training row"
        if n_people:
            people = context.domain.sample(n_people, context.rng, training.rows)
            labels = context.labeller.label(people)
            examples = base.and_more(
                with_all_variants(context.domain, people, labels, share_weight=base.weights is not None)
            )
            title = f"all variants of every training row, and of {n_people:,} people of the domain"
        yield Proposal(title, examples, n_added=len(examples) - len(training), facts={"n_people": n_people})
