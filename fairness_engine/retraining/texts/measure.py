"""How often the decision on a text hangs on the term in it, on held-out texts: what ``measure.Meter`` measures of
people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.models.model import Model
from fairness_engine.retraining.evaluation.measure import Meter
from fairness_engine.retraining.results import GroupChange
from fairness_engine.retraining.texts.subject import TextData

_TEXTS_OF_DATA = 0
"""The stream that draws texts where there are too many: the data's own, so that every run looks at the same ones."""

_MOST_TEXTS = 2_000
"""Texts that are put through every term of their categories, at most: the same ones for every model."""


@dataclass(frozen=True)
class Twins:
    """Texts and what becomes of each when terms are swapped.

    Args:
        rows: of the book, the twins of one group together ``(n_rows, 1)``.
        starts: where each group begins ``(n_groups,)``: a text with every term of one category.
        of: the text that each group is of, ascending ``(n_groups,)``.
        n_texts: how many there are.
        n_independent: of how many texts they were drawn, where some may be the same one.
    """

    rows: FloatArray
    starts: IntArray
    of: IntArray
    n_texts: int
    n_independent: int | None = None

    def __len__(self) -> int:
        return self.n_texts


def every_term(data: TextData, positions: IntArray, rng: np.random.Generator) -> Twins:
    """Texts that hold a term, each with every term of each category that it holds; drawn where there are very many."""
    holding = positions[data.space.holds[positions].any(axis=1)]
    if len(holding) > _MOST_TEXTS:
        holding = np.sort(rng.choice(holding, _MOST_TEXTS, replace=False))
    texts: list[str] = []
    starts = []
    of = []
    for number, text in enumerate(holding.tolist()):
        for category in np.flatnonzero(data.space.holds[text]).tolist():
            starts.append(len(texts))
            of.append(number)
            which = (category,)
            texts += data.space.fill(data.space.template(text, which), which, data.space.combinations(which))
    return Twins(data.book.rows(texts), np.array(starts, dtype=np.int64), np.array(of, dtype=np.int64), len(holding))


def random_swaps(data: TextData, positions: IntArray, n: int, rng: np.random.Generator) -> Twins:
    """A text, a category that it holds and two of its terms, all at random, ``n`` times: none where no text holds a
    term.
    """
    holding = positions[data.space.holds[positions].any(axis=1)]
    texts: list[str] = []
    for text in rng.choice(holding, n).tolist() if len(holding) else ():
        category = int(rng.choice(np.flatnonzero(data.space.holds[text])))
        two = rng.choice(data.space.attributes[category].n_values, 2, replace=False)
        which = (category,)
        texts += data.space.fill(data.space.template(text, which), which, two[:, None])
    n_drawn = len(texts) // 2
    return Twins(data.book.rows(texts), 2 * np.arange(n_drawn), np.arange(n_drawn), n_drawn, len(holding))


class TextMeter(Meter):
    """Measures models of texts alike: ``uniform`` is the share of random swaps, ``data`` that of texts, that change a
    decision. Intervals of both are over texts: the swaps of one text hang together.

    Args:
        swaps: ``random_swaps`` of the texts.
        twins: ``every_term`` of the texts.
        rows, labels: of the texts.
        clock: asked between batches.
    """

    def __init__(self, swaps: Twins, twins: Twins, rows: FloatArray, labels: IntArray, clock: Clock = NO_LIMIT) -> None:
        self._people = swaps
        self.n_independent = swaps.n_independent
        self._inside = twins
        self._clock = clock
        self._rows = rows
        self._labels = labels
        self.evaluations = 0

    def verdicts(self, model: Model, people: Any) -> BoolArray:
        """Whether some swap changes the decision on each text ``(n_texts,)``.

        Args:
            model: decides.
            people: ``Twins``.
        """
        found = np.zeros(len(people), dtype=bool)
        if not len(people):
            return found
        different, inverse = np.unique(people.rows, axis=0, return_inverse=True)
        decided = decide(model, different, self._clock)[inverse.ravel()]
        self.evaluations += len(different)
        differs = np.minimum.reduceat(decided, people.starts) != np.maximum.reduceat(decided, people.starts)
        np.logical_or.at(found, people.of, differs)
        return found


_AT_ONCE = 1 << 12


def decide(model: Model, rows: FloatArray, clock: Clock = NO_LIMIT) -> IntArray:
    """The classes of rows ``(n_rows,)``.

    Raises:
        SearchStopped: cancelled, or out of time.
    """
    found = []
    for start in range(0, len(rows), _AT_ONCE):
        clock.check()
        found.append(model.decide(model.scores(rows[start : start + _AT_ONCE])))
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def text_meter(
    data: TextData, positions: IntArray, n_draws: int, rng: np.random.Generator, clock: Clock = NO_LIMIT
) -> TextMeter:
    """What measures models on some texts.

    Args:
        n_draws: random swaps.
        rng: draws them.
    """
    assert data.dataset.labels is not None, "checked when the rows were split"
    twins = every_term(data, positions, np.random.default_rng(_TEXTS_OF_DATA))
    swaps = random_swaps(data, positions, n_draws, rng)
    return TextMeter(swaps, twins, data.dataset.rows[positions], data.dataset.labels[positions], clock)


def by_term(data: TextData, positions: IntArray, was: np.ndarray, now: np.ndarray) -> Iterator[GroupChange]:
    """The test texts that hold each term, of those that any holds."""
    held: dict[tuple[int, int], list[int]] = {}
    for line, text in enumerate(positions.tolist()):
        for category, term in sorted({(place[2], place[3]) for place in data.space.places[text]}):
            held.setdefault((category, term), []).append(line)
    for (category, term), lines in sorted(held.items()):
        attribute = data.space.attributes[category]
        before = was[lines]
        after = now[lines]
        counts = (len(lines), before.sum(), after.sum(), (~before & after).sum(), (before & ~after).sum())
        yield GroupChange((attribute.name,), (attribute.labels[term],), *map(int, counts))
