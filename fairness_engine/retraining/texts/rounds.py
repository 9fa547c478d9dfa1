"""What is added to the texts of a retraining: copies in which terms are swapped, and the outcome that each gets.

Reference: paper 001 (TestSGD), section 5, research question 3, Table 7; copies with every term and the text's own
outcome after Dixon et al. 2018 and counterfactual data augmentation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.clock import Clock
from fairness_engine.models.model import Model
from fairness_engine.retraining.augmentation import climb
from fairness_engine.retraining.evaluation.split import Split, checked_labels
from fairness_engine.retraining.settings import RetrainSettings
from fairness_engine.retraining.strategies.worst_group import LEAST, MOST, papers_steps
from fairness_engine.retraining.strategy import Proposal, Rounds
from fairness_engine.retraining.texts.groups import TextGroups, categories_of, some_templates
from fairness_engine.retraining.texts.measure import decide
from fairness_engine.retraining.texts.subject import TextData
from fairness_engine.retraining.trainers.trainer import Examples

DOSES = (1.0, 3.0)
"""Up to 1: the share of the sentences decided unlike that is to be decided alike, the cheapest first. Above: how often
each is shown.
"""
_MOST_DECIDED = 400_000
"""Swapped texts that are looked at for samples: of more sentences some are drawn."""
_MOST_TWINS = 8
"""Twins of a sentence that are added at most: those of the rule set first, the others at random."""
_PAPERS_SHARE = 0.25
"""Of the rounds: those that add what the paper adds."""
_LEAST_DOSE = 0.02
_NOTHING_LEFT = 0.02
"""A gap that no round is needed for."""


@dataclass(frozen=True)
class TextRoundContext:
    """What a strategy for texts works with.

    Args:
        model: the one to improve.
        data: the texts.
        parts: of them.
        training, validation: examples of both parts.
        settings: of the retraining.
        groups: the rule set that is looked at.
        rng: the only source of chance.
        say: tells what is at work.
        clock: of the run.
    """

    model: Model
    data: TextData
    parts: Split
    training: Examples
    validation: Examples
    settings: RetrainSettings
    groups: TextGroups
    rng: np.random.Generator
    say: Callable[[str], None]
    clock: Clock


@dataclass(frozen=True)
class Sentences:
    """Templates of texts with every combination of terms of some categories put in.

    Args:
        rows: places in the book ``(n_templates, n_combinations)``.
        decided: the class that the model gives each ``(n_templates, n_combinations)``.
        labels: what all twins of a template are to be decided as ``(n_templates,)``.
        costs: how far the model is from that ``(n_templates,)``: the largest distance from the threshold of a twin
            beyond it; 0 where all are decided so.
        losses: of the texts of the data that are the template but for terms, how many the model decides as their
            outcome was, less those that their label would ``(n_templates,)``.
    """

    rows: IntArray
    decided: IntArray
    labels: IntArray
    costs: FloatArray
    losses: IntArray

    def __len__(self) -> int:
        return len(self.rows)


def sentences(
    context: TextRoundContext, which: tuple[int, ...], positions: IntArray, *, with_outcomes: bool = False
) -> Sentences:
    """The sentences of some categories, and what their twins are to be decided as.

    Args:
        context: of the run.
        which: the categories.
        positions: of the texts that they are taken from.
        with_outcomes: by the outcome of the text in the data, the most frequent one where several texts differ in terms
            alone; else by the majority of the model's decisions on the twins, a tie by their mean score.

    Raises:
        SearchStopped: cancelled, or out of time.
    """
    data = context.data
    model = context.model
    combinations = data.space.combinations(which)
    most = max(1, _MOST_DECIDED // len(combinations))
    templates = some_templates(data, positions, which, most, int(context.rng.integers(2**31)))
    texts = [text for each in templates.templates for text in data.space.fill(each, which, combinations)]
    rows = data.book.rows(texts)
    shape = len(templates), len(combinations)
    if not len(templates):  # an estimator may refuse to decide nothing
        none = np.empty(0, dtype=np.int64)
        return Sentences(none.reshape(shape), none.reshape(shape), none, np.empty(0), none)
    decided = decide(model, rows, context.clock).reshape(shape)
    margins = model.margins(rows)
    by_class = np.concatenate([-margins, margins], axis=1) if model.is_binary else margins
    by_class = by_class.reshape(*shape, len(model.classes))
    counts = _outcomes(data, positions)[data.together[templates.texts]]
    if with_outcomes:
        labels = counts.argmax(axis=1)
    else:
        votes = (decided[:, :, None] == np.arange(len(model.classes))).sum(axis=1)
        means = by_class.mean(axis=1)
        labels = (votes + 0.5 * (means == means.max(axis=1, keepdims=True))).argmax(axis=1)
    of_wanted = np.take_along_axis(by_class, labels[:, None, None], axis=2)[:, :, 0]
    costs = np.where((decided != labels[:, None]).any(axis=1), (by_class.max(axis=2) - of_wanted).max(axis=1), 0.0)
    is_right = decide(model, data.dataset.rows[positions], context.clock) == checked_labels(data.dataset)[positions]
    n_right = np.bincount(data.together[positions], is_right, int(data.together.max()) + 1)[
        data.together[templates.texts]
    ]
    losses = (n_right - np.take_along_axis(counts, labels[:, None], axis=1)[:, 0]).astype(np.int64)
    return Sentences(rows[:, 0].astype(np.int64).reshape(shape), decided, labels, costs, losses)


def _outcomes(data: TextData, positions: IntArray) -> IntArray:
    """For each number of ``together`` how many of some texts have each outcome ``(n_numbers, n_outcomes)``."""
    counts = np.zeros((int(data.together.max()) + 1, len(data.dataset.classes)))
    np.add.at(counts, (data.together[positions], checked_labels(data.dataset)[positions]), 1)
    return counts.astype(np.int64)


def rule_rounds(context: TextRoundContext) -> Rounds:
    """Strategy ``rules``: first what the paper adds in growing steps, then twins that contradict the model, in the
    strongest dose that holds.

    The paper adds texts with the rule set's terms that the model already decides in the opposite way, with that
    decision as their outcome: a model learns little from what it decides so. Therefore, a departure, the other rounds
    add, of the same sentences, the twin with the rule set's terms and others beside it, all with the majority of the
    model's own decisions over the
    terms: one sentence, one outcome.

    Raises:
        SettingError: no term occurs often enough.
    """
    groups = context.groups
    training = context.training
    settings = context.settings
    group = groups.target
    gap = groups.gap(context.model)
    if abs(gap) <= _NOTHING_LEFT:
        return
    context.say(f"swapping terms: {group.words}")
    which = categories_of(group)
    found = sentences(context, which, context.parts.train)
    combinations = context.data.space.combinations(which)
    here = int(np.flatnonzero((combinations == [group.rules[i] for i in which]).all(axis=1))[0])
    is_favourable = found.decided[:, here] == context.model.favourable
    opposite = np.flatnonzero(is_favourable == (gap < 0))
    most = max(LEAST, round(MOST * len(context.data.dataset.rows)))
    n_done = 0
    for n in papers_steps(most, max(1, round(_PAPERS_SHARE * settings.max_rounds))):
        chosen = context.rng.permutation(opposite)[:n]
        if not len(chosen):
            break
        added = _examples(found.rows[chosen, here], found.decided[chosen, here])
        title = f"{len(added):,} {group.words} that the model decides the opposite way, added with that outcome"
        standing = yield _proposal(title, training, added, is_papers=True)
        n_done += 1
        if not standing.is_within or groups.gap(standing.model) * gap <= 0 or len(added) < n:
            break
    held = sentences(context, which, context.parts.validation)
    title = f"{group.words}, and the same with other terms, added with the outcome that most terms get"
    twins = _Twins(context, [_Part(found, held, here)], title)
    yield from climb(twins.propose, twins.doses, settings.max_rounds - n_done)


def variant_rounds(context: TextRoundContext) -> Rounds:
    """Strategy ``variants``: every training text that holds a term, with other terms of the category and the text's own
    outcome.
    """
    context.say("swapping the terms of all categories")
    found = []
    for i in range(len(context.data.space.attributes)):
        train, held = (
            sentences(context, (i,), part, with_outcomes=True)
            for part in (context.parts.train, context.parts.validation)
        )
        if len(train):
            found.append(_Part(train, held, -1))
    if found:
        twins = _Twins(context, found, "texts with other terms of the category, added with the outcome of the text")
        yield from climb(twins.propose, twins.doses, context.settings.max_rounds)


@dataclass(frozen=True)
class _Part:
    """Sentences of the same categories.

    Args:
        train: that are trained on.
        held: that tell when to end a training.
        here: the combination whose twins are always among those added; -1 for none.
    """

    train: Sentences
    held: Sentences
    here: int


class _Twins:
    """Twins of sentences, all of one sentence with one outcome.

    Args:
        context: of the run.
        parts: the sentences.
        title: what the twins are.
    """

    def __init__(self, context: TextRoundContext, parts: list[_Part], title: str) -> None:
        self._context = context
        self._parts = parts
        self._title = title
        self._train = [self._some(part.train, part.here) for part in parts]
        self._held = [self._some(part.held, part.here) for part in parts]

    @property
    def doses(self) -> tuple[float, ...]:
        """First the largest share that would cost the training texts no more than the tolerance, were all decided as
        labelled.
        """
        room = self._context.settings.tolerance * len(self._context.training)
        firsts = []
        for part in self._parts:
            order = np.argsort(part.train.costs, kind="stable")[(part.train.costs == 0).sum() :]
            holds = part.train.losses[order].cumsum() * len(self._parts) <= room
            firsts.append(1.0 if holds.all() else holds.argmin() / len(holds))
        first = float(min(firsts))
        return (*((first,) if _LEAST_DOSE < first < 1 else ()), *DOSES)

    def propose(self, dose: float) -> Proposal:
        """The twins of those that the dose reaches; nothing of the others."""
        added = []
        like = []
        for part, train, held in zip(self._parts, self._train, self._held, strict=True):
            unlike = part.train.costs[part.train.costs > 0]
            cut = float(np.quantile(unlike, dose)) if dose < 1 and len(unlike) else np.inf
            added.append(_reached(part.train, train, cut, max(1, round(dose))))
            like.append(_reached(part.held, held, cut, max(1, round(dose))))
        samples = Examples(np.concatenate([one.rows for one in added]), np.concatenate([one.labels for one in added]))
        title = f"{len(samples):,} {self._title}"
        if dose < 1:
            title += f"; of the sentences decided unlike the {dose:.0%} that cost least"
        stopping = self._context.validation
        for one in like:
            stopping = stopping.and_more(one)
        return _proposal(title, self._context.training, samples, stopping, is_papers=False)

    def _some(self, found: Sentences, here: int) -> IntArray:
        """Which twins of each sentence are added ``(n_templates, at most _MOST_TWINS)``."""
        rank = self._context.rng.random(found.rows.shape)
        if here >= 0:
            rank[:, here] = -1.0
        order: IntArray = rank.argsort(axis=1)[:, :_MOST_TWINS]
        return order


def _reached(found: Sentences, chosen: IntArray, cut: float, times: int) -> Examples:
    """The chosen twins of the sentences that cost at most so much, each so often."""
    is_reached = found.costs <= cut
    places = np.take_along_axis(found.rows, chosen, axis=1)[is_reached].ravel()
    labels = np.repeat(found.labels[is_reached], chosen.shape[1])
    return _examples(np.tile(places, times), np.tile(labels, times))


def _examples(places: IntArray, labels: IntArray) -> Examples:
    return Examples(places.astype(np.float64)[:, None], labels)


def _proposal(
    title: str, training: Examples, added: Examples, stopping: Examples | None = None, *, is_papers: bool
) -> Proposal:
    facts = {"n_samples": float(len(added)), "is_papers": float(is_papers)}
    return Proposal(title, training.and_more(added), n_added=len(added), facts=facts, stopping=stopping)
