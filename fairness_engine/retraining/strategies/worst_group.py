"""Samples of the worst rule set with the opposite label (paper 001, section 5, research question 3, Table 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from fairness_engine.models.model import Model
from fairness_engine.retraining.evaluation.group_samples import GroupSampler
from fairness_engine.retraining.evaluation.worst_rule_set import Groups
from fairness_engine.retraining.strategy import Proposal, RoundContext, Rounds, Validation
from fairness_engine.retraining.trainers.trainer import Examples

LEAST = 50
MOST = 0.1
"""Samples that are added: from so many up to this share of the data's rows."""
_PAPERS_SHARE = 0.4
"""Of the rounds: those that add what the paper adds. The others add samples near the boundary of decision."""
_FIRST_SHARE = 0.35
"""Of the most samples: where the search for the strongest dose near the boundary begins."""
_REACH = 1.0
_FURTHER = 1.5
"""Of the score: the part that would vanish were all samples near the boundary decided as labelled; and by how much more
it may be next.
"""
_NEARLY_NOTHING = 0.1
"""What may be left of a score that is worth no further round."""
_CLOSE_ENOUGH = 1.15
"""Doses that differ by less are not told apart: the chance of a training is larger."""
_NOTHING_LEFT = 0.02
"""A gap that no dose is needed for."""
_FEW_ROWS = 2_000
"""Training rows below which a tenth of them is too little to move a network that knows them."""
_MOST_AROUND = 20_000
"""Neighbours of few rows that are added at most."""


def objective(groups: Groups) -> Callable[[Model], float]:
    """What this strategy makes small, instead of the share of discriminatory individuals: the score of its rule set."""
    return lambda model: abs(groups.gap(model))


def rounds(context: RoundContext) -> Rounds:
    """First what the paper adds in growing steps, then samples near the boundary in the strongest dose within the
    tolerance.

    The paper adds samples of the group that the model already decides in the opposite way, with that decision as their
    label. A network that is trained on from its own weights is told by them what it knows, so that the score hardly
    moves; it moves when the label contradicts the model where that costs least, near the boundary, inside the group and
    outside. A network of few rows knows them by heart, and a tenth of them more moves it little: there, neighbours of
    all rows are added with the model's own decisions as labels, but for those nearest the boundary.

    Raises:
        SettingError: the scope makes no rule set.
    """
    groups = context.groups
    training = context.training
    group = groups.target
    gap = groups.gap(context.model)
    if abs(gap) <= _NOTHING_LEFT:
        return
    context.say(f"drawing samples of {group.words}")
    sampler = GroupSampler(context.model, context.domain, group, gap, context.rng)
    most = max(LEAST, round(MOST * len(context.dataset.rows)))
    n_rounds = context.settings.max_rounds
    n_papers = max(1, round(_PAPERS_SHARE * n_rounds))
    n_done = 0
    for n in papers_steps(most, n_papers):
        added = sampler.opposite(training.rows, n)
        if not len(added):
            break
        label = "favourable" if gap < 0 else "other"
        title = f"{len(added):,} samples of {group.words} that the model gives the {label} outcome, added with it"
        standing = yield _proposal(title, training, added, None, is_papers=True)
        n_done += 1
        if not standing.is_within or groups.gap(standing.model) * gap <= 0 or len(added) < n:
            break
    if context.trainer.has_weights and len(training) < _FEW_ROWS:
        yield from _all_around(context, sampler, n_rounds - n_done)
    else:
        yield from _near_the_boundary(context, sampler, most, n_rounds - n_done)


def papers_steps(most: int, n_steps: int) -> Iterator[int]:
    """From the least number to the most, by equal factors."""
    if n_steps == 1:
        yield most
        return
    yield from (round(n) for n in np.geomspace(LEAST, most, n_steps))


def _near_the_boundary(context: RoundContext, sampler: GroupSampler, most: int, n_rounds: int) -> Rounds:
    """The dose by bisection: up while accuracy holds and the group is not on the other side, else down."""
    groups = context.groups
    training = context.training
    held = context.validation
    gap = groups.gap(context.model)
    (gains, loses) = _who(groups, groups.gap(context.model))
    low = 0
    high = 0
    n = max(LEAST, round(_FIRST_SHARE * most))
    reach = _REACH
    for _ in range(n_rounds):
        added = sampler.boundary(training.rows, n, reach)
        if not len(added):
            return
        like = sampler.boundary(held.rows, max(2, round(n * len(held) / len(training))), reach)
        title = f"{len(added):,} samples near the boundary added: {gains} with the favourable outcome, {loses} without"
        standing: Validation = yield _proposal(title, training, added, held.and_more(like), is_papers=False)
        holds = standing.is_within and groups.gap(standing.model) * gap > 0
        if holds and n == most and standing.objective > _NEARLY_NOTHING:
            reach *= _FURTHER  # there may be no more of them, so they reach further
            continue
        low, high = (n, high) if holds else (low, n)
        if n == (most if holds else LEAST) or (low and high and high <= _CLOSE_ENOUGH * low):
            return
        n = _next(low, high, most)


def _all_around(context: RoundContext, sampler: GroupSampler, n_rounds: int) -> Rounds:
    """Neighbours of all rows, by bisection of how many of them are labelled otherwise than the model decides."""
    groups = context.groups
    training = context.training
    held = context.validation
    gap = groups.gap(context.model)
    (gains, loses) = _who(groups, groups.gap(context.model))
    n = min(_MOST_AROUND, 2 * len(context.domain.movable) * len(training))
    low = 0.0
    high = 0.0
    reach = _REACH
    for _ in range(n_rounds):
        added = sampler.around(training.rows, n, reach)
        if not len(added):
            return
        like = sampler.around(held.rows, max(2, round(n * len(held) / len(training))), reach)
        title = (
            f"{len(added):,} neighbours added as the model decides them, but near the boundary, where {reach:.0%} of "
            f"the gap would close: {gains} with the favourable outcome, {loses} without"
        )
        standing: Validation = yield _proposal(title, training, added, held.and_more(like), is_papers=False)
        holds = standing.is_within and groups.gap(standing.model) * gap > 0
        low, high = (reach, high) if holds else (low, reach)
        is_done = standing.objective <= _NEARLY_NOTHING if holds else False
        if is_done or (low and high and high <= _CLOSE_ENOUGH * low):
            return
        reach = reach * _FURTHER if not high else float(np.sqrt(low * high)) if low else high / 2


def _who(groups: Groups, gap: float) -> tuple[str, str]:
    """Who is to gain and who is to lose, in words."""
    words = groups.target.words
    return (words, "everyone else") if gap < 0 else ("everyone else", words)


def _next(low: int, high: int, most: int) -> int:
    """The dose between the strongest that held and the weakest that did not."""
    if not high:
        return min(most, 2 * low)
    return max(LEAST, round(float(np.sqrt(low * high))) if low else high // 2)


def _proposal(
    title: str, training: Examples, added: Examples, stopping: Examples | None, *, is_papers: bool
) -> Proposal:
    facts = {"n_samples": float(len(added)), "is_papers": float(is_papers)}
    return Proposal(title, training.and_more(added), n_added=len(added), facts=facts, stopping=stopping)
