"""For whom it matters most: a few very different people of a search, each told by all their variants.

Finding pairs is easy, so they must be ranked. A pair's severity is the gap between its two scores. Of the pairs of two
plausible people with the widest gaps some are taken who differ from one another, and each is told by what all variants
of the person get: how many are decided unlike the most, the widest gap between any two, and how many people of the data
are like them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.clock import NO_LIMIT, Clock, WorkingTime
from fairness_engine.codec import encode
from fairness_engine.events import Event, PairsFound, PairsMeasured, Progress, ResultReady, Stopped
from fairness_engine.measures.plausibility.plausibility import Plausibility
from fairness_engine.measures.results import N_SEVERE, SeverePerson, Severity
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain
from fairness_engine.pairs import Pairs

_N_POOLED = 2_000
"""Pairs with the widest gaps that these are chosen among."""
_APART = (0.3, 0.2, 0.1, 0.0)
"""Shares of the attributes in which two of them differ at least; the next where too few do."""
_SECONDS = 3.0
"""For asking the model about all variants of all of them."""
_PHASE = "ranking who was found"


class _Pool:
    """The pairs with the widest gaps so far, with their places among all.

    Args:
        n: how many are kept.
    """

    def __init__(self, n: int) -> None:
        self.pairs: Pairs | None = None
        self.places: IntArray = np.empty(0, dtype=np.int64)
        self._n = n

    def add(self, pairs: Pairs, places: IntArray) -> None:
        """Take some in, and keep the widest of all; of equal ones those found first."""
        both = pairs if self.pairs is None else Pairs.concatenate([self.pairs, pairs], pairs.first.shape[1])
        where = np.concatenate([self.places, places])
        kept = np.sort(np.argsort(-both.gaps, kind="stable")[: self._n])
        self.pairs = both[kept]
        self.places = where[kept]


def with_severity(
    events: Iterable[Event], learn: Callable[[], Plausibility], model: Model, domain: Domain, clock: Clock = NO_LIMIT
) -> Iterator[Event]:
    """The events of a search, and the result ``severity`` before the last.

    Args:
        events: of a search, its pairs measured (see ``with_plausibility``).
        learn: makes what says who could exist.
        model, domain: of the search.
        clock: cancels.
    """
    waiting: deque[Pairs] = deque()
    likely, others = _Pool(_N_POOLED), _Pool(N_SEVERE)
    n_seen = 0
    progress = None
    for event in events:
        if isinstance(event, PairsFound):
            waiting.append(event.pairs)
        elif isinstance(event, PairsMeasured):
            pairs = _measured(waiting, event)
            places = n_seen + np.arange(len(pairs))
            n_seen += len(pairs)
            has_all = (pairs.n_unseen == 0).all(axis=1)
            likely.add(pairs[has_all], places[has_all])
            others.add(pairs[~has_all], places[~has_all])
        elif isinstance(event, Progress):
            progress = event
        elif isinstance(event, Stopped) and not clock.is_cancelled():
            if progress is not None and domain.n_variants > 2:
                yield replace(progress, phase=_PHASE)
            yield ResultReady("severity", encode(_severity(likely, others, learn, model, domain)))
        yield event


def _measured(waiting: deque[Pairs], event: PairsMeasured) -> Pairs:
    """The pairs that were measured, with what was; they come in the order in which they were found."""
    n = len(event.distance)
    parts: list[Pairs] = []
    while n:
        first = waiting.popleft()
        if len(first) > n:
            waiting.appendleft(first[n:])
            first = first[:n]
        parts.append(first)
        n -= len(first)
    pairs = Pairs.concatenate(parts, parts[0].first.shape[1] if parts else 0)
    return replace(pairs, distance=event.distance, n_unseen=event.n_unseen)


def _severity(
    likely: _Pool, others: _Pool, learn: Callable[[], Plausibility], model: Model, domain: Domain
) -> Severity:
    """The people for whom it matters most: plausible ones, and others where there are too few."""
    chosen = _chosen(likely, learn().limit) if likely.pairs is not None and len(likely.pairs) else []
    for pool in (likely, others):
        if pool.pairs is None:
            continue
        known = [place for _, place in chosen]
        rest = np.flatnonzero(~np.isin(pool.places, known))[: N_SEVERE - len(chosen)]
        chosen += [(pool.pairs[at : at + 1], int(pool.places[at])) for at in rest.tolist()]
    people = np.array([(pair.first[0], pair.second[0]) for pair, _ in chosen])
    n_similar = learn().n_similar(people).tolist() if chosen else []
    clock = Clock(_SECONDS, now=WorkingTime())
    told: list[SeverePerson] = []
    for pair, place in chosen:
        if told and clock.is_over:
            break  # a slow model with many variants: those asked so far
        told.append(_told(pair, place, n_similar[len(told)], model, domain))
    told.sort(key=lambda one: (-one.variants_unlike / one.n_variants, -one.gap, -one.similar_rows, one.pair))
    return Severity(told)


def _chosen(pool: _Pool, limit: float) -> list[tuple[Pairs, int]]:
    """Plausible pairs with the widest gaps that differ from one another, and their places."""
    assert pool.pairs is not None, "asked"
    plausible = np.flatnonzero(pool.pairs.is_plausible(limit).all(axis=1))
    order = plausible[np.argsort(-pool.pairs.gaps[plausible], kind="stable")]
    rows = pool.pairs.first
    taken: list[int] = []
    for least in _APART:
        for at in order.tolist():
            if len(taken) < N_SEVERE and at not in taken and _is_apart(rows[at], rows[taken], least):
                taken.append(at)
    return [(pool.pairs[at : at + 1], int(pool.places[at])) for at in taken]


def _is_apart(row: FloatArray, rows: FloatArray, least: float) -> bool:
    """Whether a person differs from all of some in such a share of the attributes."""
    differs: BoolArray = rows != row
    return bool((differs.mean(axis=1) >= least).all()) if len(rows) else True


def _told(pair: Pairs, place: int, n_similar: int, model: Model, domain: Domain) -> SeverePerson:
    """What all variants of a person get, beside how many people of the data are like them."""
    variants = domain.variants(pair.first)[0]
    scores = model.scores(variants)
    decisions = model.decide(scores)
    n_alike = int(np.bincount(decisions).max())
    spread = float(np.nan_to_num(np.ptp(scores, axis=0).max()))
    return SeverePerson(place + 1, domain.n_variants - n_alike, domain.n_variants, spread, n_similar)
