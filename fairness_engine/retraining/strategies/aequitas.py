"""Growing portions of discriminatory individuals, while the estimate falls (paper 000, Algorithm 5)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fairness_engine.retraining.augmentation import LabelledPeople, judged, with_some_variants
from fairness_engine.retraining.strategy import Proposal, RoundContext, Rounds, people_of

MOST = 100.0
"""Portions in % of the training rows end here."""
_PATIENCE = 2
"""Rounds in a row without a lower estimate after which it ends; the paper's is the first, but one estimate is
chance.
"""
_CLOSE = 0.1
"""Bisection ends when what held and what did not are this close, as a share of the latter."""
_MOST_VARIANTS = 8


def rounds(context: RoundContext) -> Rounds:
    """Round i adds ``p_i`` % of the number of training rows, ``p_i`` drawn from ``(2^(i-2), 2^(i-1))``, i from 2 on, up
    to 100.

    A portion that costs more accuracy than the tolerance is not the end: the next ones lie half-way to the largest that
    held.

    Reference: paper 000 (AEQUITAS), Algorithm 5. Departures: an individual is added with every variant, all of one
        label (at most
    eight, drawn, where there are more), since one of them alone teaches a model little of what it is to ignore; a round
    without a lower estimate may be chance, so the second in a row ends it; and the tolerance, of which the paper knows
    nothing.
    """
    people = people_of(context.find_cases(context.model))
    if not len(people):
        return
    found = judged(context.model, context.domain, people, context.labeller.label(people))
    search = _Portions(context.rng, _reach(context, found))
    for _ in range(context.settings.max_rounds):
        portion = search.next()
        if portion is None:
            return
        standing = yield _proposal(context, found, portion)
        search.note(portion, standing.objective, is_within=standing.is_within)


def _reach(context: RoundContext, found: LabelledPeople) -> float:
    """The portion that takes all who were found, in %."""
    return min(MOST, 100.0 * len(found) / len(context.training))


def _proposal(context: RoundContext, found: LabelledPeople, portion: float) -> Proposal:
    training = context.training
    n = min(len(found), max(1, round(portion * len(training) / 100)))
    chosen = found.part(context.rng.choice(len(found), size=n, replace=False))
    n_each = min(context.domain.n_variants, _MOST_VARIANTS)
    added = with_some_variants(context.domain, chosen, np.inf, context.rng, n_each=n_each, keeps_rows=False)
    title = (
        f"{n:,} discriminatory individuals added ({portion:.3g} % of the training rows), labelled by "
        f"{context.labeller.title}"
    )
    return Proposal(title, training.and_more(added), n_added=len(added), facts={"portion": portion, "n_people": n})


@dataclass
class _Portions:
    """Which portion comes next.

    Args:
        rng: draws portions, as the paper does.
        reach: the largest portion that there are individuals for, in %.
    """

    rng: np.random.Generator
    reach: float
    step: int = 1
    held: float = 0.0
    broken: float = field(default=np.inf)
    best: float = 1.0
    n_without_gain: int = 0

    def next(self) -> float | None:
        """The next portion in %; ``None`` when there is none worth a round."""
        if np.isfinite(self.broken):
            middle = (self.held + self.broken) / 2
            return middle if self.broken - self.held > _CLOSE * self.broken else None
        if self.n_without_gain >= _PATIENCE or self.held >= self.reach:
            return None
        self.step += 1
        drawn = float(self.rng.uniform(2.0 ** (self.step - 2), 2.0 ** (self.step - 1)))
        return drawn if drawn <= self.reach else self.reach

    def note(self, portion: float, objective: float, *, is_within: bool) -> None:
        """How a round with a portion ended."""
        if not is_within:
            self.broken = portion
            return
        self.held = portion
        is_gain = objective < self.best
        self.best = min(self.best, objective)
        self.n_without_gain = 0 if is_gain else self.n_without_gain + 1
