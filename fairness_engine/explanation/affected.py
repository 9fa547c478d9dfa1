"""Whom the finds of a search are about: which protected attribute changes the decision by itself, who of the variants
fares worse, and in which groups of the data most are affected.

A scan of the data tests people as they come, so its shares say something of the data's people, and groups are learnt as
on the page *Where*. Any other search goes where it finds: of its finds only the finds themselves are told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray
from fairness_engine.clock import NO_LIMIT, Clock, WorkingTime
from fairness_engine.codec import encode
from fairness_engine.events import Event, PairsFound, Progress, ResultReady, Stopped
from fairness_engine.explanation.results import MAX_GROUPS, Affected, AffectedGroup
from fairness_engine.explanation.where_tree import Condition, WhereGroup, all_hold, condition_rule, learn_groups
from fairness_engine.intervals import share_interval
from fairness_engine.models.model import Model
from fairness_engine.oracle.cohorts import range_rule, values_rule
from fairness_engine.oracle.domain import Domain, KeyArray
from fairness_engine.telling.rules import Rule

_MAX_KEPT = 2_000
"""Finds of a search, taken evenly, that are told; twice as many are kept meanwhile."""
_MAX_ROWS = 40_000
"""People of a scan that groups are learnt of and counted on."""
_MAX_DEPTH = 4
_MAX_VARIANTS = 400_000
"""Rows passed to the model for each group."""
_FEWEST_JUDGED = 50
_ROWS_AT_ONCE = 100_000
_SECONDS = 3.0
"""For asking the model about all variants of the people of each group."""
_LEAST_F1 = 0.1
"""By which a group must tell more than everybody does."""
_LEAST_PART = 0.05
"""Of all who are affected, in a group that is told."""
_FEW = 40
"""Of fewer the set of values that fares worse is chosen and counted on the same; else on every second one each."""
_LEAST_APART = 0.2
"""By which the values that fare worse are harmed more often, as a share of variants; less is in both directions."""
_PLAINER = 0.05
"""Of what sets the values apart may be given up for a rule less."""
_PHASE = "seeing whom it is about"


def with_affected(
    events: Iterable[Event],
    model: Model,
    domain: Domain,
    scanned: FloatArray | None = None,
    clock: Clock = NO_LIMIT,
) -> Iterator[Event]:
    """The events of a search, and the result ``affected`` before the last where anybody was found.

    Args:
        events: of a search.
        model, domain: of the search.
        scanned: of a scan of the data, the people inside the domain in the order in which they are tested ``(n_rows,
            n_columns)``.
        clock: cancels.
    """
    finds = _Finds(domain, scanned is not None)
    n_scanned = 0
    progress = None
    for event in events:
        if isinstance(event, PairsFound):
            finds.add(event.pairs.first)
        elif isinstance(event, Progress):
            progress = event
        elif isinstance(event, ResultReady) and event.name == "scan":
            n_scanned = event.content["n_tested"]
        elif isinstance(event, Stopped) and finds.n and not clock.is_cancelled():
            if progress is not None:
                yield replace(progress, phase=_PHASE)
            told = None if scanned is None else _of_scan(scanned[:n_scanned], finds.keys, model, domain)
            told = told or Affected([_told((), finds.rows, finds.n, finds.n, model, domain)])
            yield ResultReady("affected", encode(told))
        yield event


class _Finds:
    """The finds of a search, evenly thinned out.

    Attributes:
        n: all of them.
    """

    def __init__(self, domain: Domain, keeps_keys: bool) -> None:
        self.n = 0
        self._domain = domain
        self._keeps_keys = keeps_keys
        self._rows: list[FloatArray] = []
        self._keys: list[KeyArray] = []
        self._stride = 1
        self._n_kept = 0

    def add(self, rows: FloatArray) -> None:
        """Take some in ``(n_rows, n_columns)``."""
        if self._keeps_keys:
            self._keys.append(self._domain.keys(rows))
        kept = rows[(-self.n) % self._stride :: self._stride]
        self.n += len(rows)
        self._rows.append(kept)
        self._n_kept += len(kept)
        while self._n_kept >= 2 * _MAX_KEPT:
            thinned = self.rows[::2]
            self._stride *= 2
            self._rows = [thinned]
            self._n_kept = len(thinned)

    @property
    def rows(self) -> FloatArray:
        """Those that are kept, in the order in which they were found."""
        return np.concatenate(self._rows)

    @property
    def keys(self) -> KeyArray:
        """Of all of them."""
        return np.concatenate(self._keys)


def _of_scan(people: FloatArray, found: KeyArray, model: Model, domain: Domain) -> Affected | None:
    """The groups of the data in which most are affected, counted on the half that did not choose them; ``None`` where
    that half holds nobody who is."""
    rows = people[:_MAX_ROWS]
    verdicts: BoolArray = np.isin(domain.keys(rows), found)
    learnt = slice(0, None, 2)
    counted = slice(1, None, 2)
    if not verdicts[counted].any():
        return None
    groups = learn_groups(domain, rows[learnt], verdicts[learnt], _MAX_DEPTH)
    chosen = _telling(groups, rows[learnt], verdicts[learnt])
    others = rows[counted]
    hits = verdicts[counted]
    told = [_told_of_data((), others[hits], len(others), int(hits.sum()), model, domain)]
    for group in chosen:
        inside = all_hold(group.conditions, others)
        n = int(inside.sum())
        n_hits = int(hits[inside].sum())
        if n_hits >= _LEAST_PART * hits.sum() and share_interval(n_hits, n)[0] > hits.mean():
            told.append(_told_of_data(group.conditions, others[inside & hits], n, n_hits, model, domain))
    return Affected(told, len(rows), int(verdicts.sum()))


def _told_of_data(
    conditions: Sequence[Condition], hits: FloatArray, n: int, n_hits: int, model: Model, domain: Domain
) -> AffectedGroup:
    """The same of people of the data, whose own protected values say something: for how many one is enough at these."""
    group = _told(conditions, hits, n, n_hits, model, domain)
    if len(domain.protected) == 1:
        return group  # there are no others that could be another
    people = hits[: group.n_judged]
    as_they_are = {
        domain.schema.inputs[column].name: int(_changes_at_own_values(people, axis, model, domain).sum())
        for axis, column in enumerate(domain.protected)
    }
    return replace(group, as_they_are=as_they_are)


def _changes_at_own_values(people: FloatArray, axis: int, model: Model, domain: Domain) -> BoolArray:
    """For which people ``(n_people, n_columns)`` another value of one protected attribute changes it, the others being
    what they are ``(n_people,)``.
    """
    values = np.unique(domain.variant_values[:, axis])
    rows = np.repeat(people[:, None, :], 1 + len(values), axis=1)  # as they are, first
    rows[:, 1:, domain.protected[axis]] = values
    flat = rows.reshape(-1, rows.shape[2])
    is_left_out = domain.is_excluded(flat[:, domain.protected]).reshape(rows.shape[:2])
    is_left_out[:, 0] = False
    rows = np.where(is_left_out[:, :, None], people[:, None, :], rows)
    scores = model.scores(rows.reshape(flat.shape))
    gap = domain.scope.score_gap
    told = scores if gap > 0 else model.decide(scores).astype(np.float64)
    by_person = told.reshape(*rows.shape[:2], -1)
    return np.asarray((np.ptp(by_person, axis=1) > gap).any(axis=1))


def _telling(groups: Sequence[WhereGroup], rows: FloatArray, verdicts: BoolArray) -> list[WhereGroup]:
    """The groups of a tree, its parts or their wholes, that tell best who is affected: of those apart from what was
    chosen before, the one with the largest F1, as long as it tells clearly more than everybody does.
    """
    inside = np.array([all_hold(group.conditions, rows) for group in groups])  # (n_groups, n_rows)
    free = np.ones(len(groups), dtype=bool)
    left = verdicts.copy()
    chosen: list[WhereGroup] = []
    while len(chosen) < MAX_GROUPS - 1 and left.any() and free.any():
        n_hits = (inside & left).sum(axis=1)
        f1 = np.where(free, 2 * n_hits / (inside.sum(axis=1) + left.sum()), 0.0)
        f1[0] = 2 * left.sum() / (len(rows) + left.sum())
        best = int(np.argmax(f1))
        if best == 0 or f1[best] < f1[0] + _LEAST_F1:
            break
        chosen.append(groups[best])
        free &= ~(inside & inside[best]).any(axis=1)
        left &= ~inside[best]
    return chosen


def _told(
    conditions: Sequence[Condition], hits: FloatArray, n: int, n_hits: int, model: Model, domain: Domain
) -> AffectedGroup:
    """What the variants of affected people ``(n_rows, n_columns)`` get."""
    asked = hits[: max(_FEWEST_JUDGED, _MAX_VARIANTS // domain.n_variants)]
    variants = _decide(asked, model, domain)
    names = [domain.schema.inputs[i].name for i in domain.protected]
    alone = [int(variants.changes_along(axis).sum()) for axis in range(len(names))]
    by_attribute = dict(zip(names, alone, strict=True))
    rules = [condition_rule(one, domain) for one in conditions]
    harm = variants.harm
    n_judged = len(harm)
    harm = harm[np.ptp(harm, axis=1) > 0]  # of more than two outcomes the others may be what changes
    halves = (slice(0, None, 2), slice(1, None, 2))
    learnt, counted = (slice(None), slice(None)) if len(harm) < _FEW else halves
    if not len(harm):
        return AffectedGroup(rules, n, n_hits, n_judged, by_attribute)
    worse = _worse_values(harm[learnt].mean(axis=0), domain)
    is_worse = _hold_all(worse, domain.variant_values)
    inside = harm[counted][:, is_worse]
    outside = harm[counted][:, ~is_worse]
    group = AffectedGroup(rules, n, n_hits, n_judged, by_attribute)
    if not worse or not inside.size or not outside.size or inside.mean() - outside.mean() < _LEAST_APART:
        return group
    return replace(
        group,
        worse=[_values_rule(domain, axis, values) for axis, values in sorted(worse.items())],
        n_worse=inside.size,
        n_worse_harmed=round(float(inside.sum())),
        n_others=outside.size,
        n_others_harmed=round(float(outside.sum())),
        n_told=len(inside),
    )


@dataclass(frozen=True)
class _DecidedVariants:
    """What all variants of some people get.

    Args:
        values: by variant, what must not differ: decisions, or scores where a gap is looked for ``(n_people,
            n_variants, n_scores)``.
        gap: by which they must differ.
        harm: 1 where a variant is decided against the person, or is where the score is least; 0 the reverse
            ``(n_people, n_variants)``.
    """

    domain: Domain
    values: FloatArray
    gap: float
    harm: FloatArray

    def changes_along(self, axis: int) -> BoolArray:
        """For whom another value of one protected attribute alone changes it, at some values of the others
        ``(n_people,)``.
        """
        others = np.delete(self.domain.variant_values, axis, axis=1)
        _, line = np.unique(others, axis=0, return_inverse=True)
        order = np.argsort(line.ravel(), kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(line.ravel()[order]) > 0])
        sorted_values = self.values[:, order]
        least = np.minimum.reduceat(sorted_values, starts, axis=1)
        most = np.maximum.reduceat(sorted_values, starts, axis=1)
        return np.asarray((most - least > self.gap).any(axis=(1, 2)))


def _decide(people: FloatArray, model: Model, domain: Domain) -> _DecidedVariants:
    """Ask the model about all variants; of a slow one about fewer people."""
    gap = domain.scope.score_gap
    values: list[FloatArray] = []
    harms: list[FloatArray] = []
    clock = Clock(_SECONDS, now=WorkingTime())
    size = max(1, _ROWS_AT_ONCE // domain.n_variants)
    for start in range(0, len(people), size):
        if start and clock.is_over:
            break
        rows = domain.variants(people[start : start + size])
        scores = model.scores(rows.reshape(-1, rows.shape[2]))
        decisions = model.decide(scores).reshape(rows.shape[:2])
        by_person = scores.reshape(*rows.shape[:2], -1)
        if gap > 0:
            favour = by_person[:, :, model.favourable if by_person.shape[2] > 1 else 0]
            favour = -favour if model.is_binary and model.favourable == 0 else favour
            least, most = favour.min(axis=1, keepdims=True), favour.max(axis=1, keepdims=True)
            values.append(by_person)
            harms.append((most - favour) / np.maximum(most - least, np.finfo(float).tiny))
        else:
            values.append(decisions[:, :, None].astype(np.float64))
            harms.append((decisions != model.favourable).astype(np.float64))
    return _DecidedVariants(domain, np.concatenate(values), gap, np.concatenate(harms))


# --- who fares worse ----------------------------------------------------------------------------


def _worse_values(harm: FloatArray, domain: Domain) -> dict[int, FloatArray]:
    """The protected values that fare worse: by position of the attribute the values, none for an attribute that does
    not matter.

    Args:
        harm: of each variant the share of people for whom it is harmed ``(n_variants,)``.

    Reference: Speakman, McFowland and Neill (2015), scan statistics with linear-time subset scanning: given the other
        attributes' values, the best values of one are those whose sums are above what is expected; taken in turn until
        nothing changes, from several beginnings.
    """
    lead = harm - harm.mean()
    if not (lead > 0).any():
        return {}
    values = domain.variant_values
    every = {axis: np.unique(values[:, axis]) for axis in range(values.shape[1])}
    best: dict[int, FloatArray] = {}
    most = 0.0
    for first in every:
        chosen = dict(every)
        so_far = -1.0
        while (sum_now := _climb(chosen, first, lead, domain, every)) > so_far + 1e-12:
            so_far = sum_now
        if so_far > most + 1e-12:
            best, most = chosen, so_far
    for axis in sorted(best, key=lambda axis: _sum_without(best, axis, lead, values), reverse=True):
        if len(best) > 1 and _sum_without(best, axis, lead, values) >= (1 - _PLAINER) * most:
            del best[axis]
    return {axis: own for axis, own in best.items() if len(own) < len(every[axis])}


def _climb(
    chosen: dict[int, FloatArray], first: int, lead: FloatArray, domain: Domain, every: dict[int, FloatArray]
) -> float:
    """Choose anew the values of each attribute in turn, given the others'; returns the sum that they come to."""
    values = domain.variant_values
    total = 0.0
    for axis in sorted(chosen, key=lambda axis: (axis != first, axis)):
        others = {other: own for other, own in chosen.items() if other != axis}
        inside = _hold_all(others, values)
        sums = np.array([lead[inside & (values[:, axis] == value)].sum() for value in every[axis]])
        is_number = not domain.schema.inputs[domain.protected[axis]].codes
        taken = _best_run(sums) if is_number else sums > 0
        if taken.any():
            chosen[axis] = every[axis][taken]
            total = float(sums[taken].sum())
    return total


def _best_run(sums: FloatArray) -> BoolArray:
    """The neighbouring values whose sum is the largest ``(n_values,)``."""
    ends = np.concatenate([[0.0], np.cumsum(sums)])
    least = np.minimum.accumulate(ends[:-1])
    end = int(np.argmax(ends[1:] - least))
    start = int(np.argmin(ends[: end + 1]))
    taken = np.zeros(len(sums), dtype=bool)
    taken[start : end + 1] = ends[end + 1] > ends[start]
    return taken


def _sum_without(chosen: dict[int, FloatArray], axis: int, lead: FloatArray, values: FloatArray) -> float:
    others = {other: own for other, own in chosen.items() if other != axis}
    return float(lead[_hold_all(others, values)].sum())


def _hold_all(chosen: dict[int, FloatArray], values: FloatArray) -> BoolArray:
    """Which variants hold one of the chosen values of each attribute ``(n_variants,)``."""
    keep: BoolArray = np.ones(len(values), dtype=bool)
    for axis, own in chosen.items():
        keep &= np.isin(values[:, axis], own)
    return keep


# --- in JSON ------------------------------------------------------------------------------------


def _values_rule(domain: Domain, axis: int, values: FloatArray) -> Rule:
    column = domain.schema.inputs[domain.protected[axis]]
    if column.codes:
        return values_rule(column, values.tolist())
    return range_rule(column, float(values[0]), float(values[-1]))
