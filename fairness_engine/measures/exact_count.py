"""The exact share of discriminatory individuals, by going through all of them, where the space is small enough.

No draw, no interval: every individual of the domain is decided with every combination of protected values. Rows whose
fast margin is too near the threshold are decided again at full precision.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from fairness_engine.arrays import BoolArray, FloatArray, IntArray
from fairness_engine.clock import NO_LIMIT, Batches, Clock
from fairness_engine.codec import encode
from fairness_engine.errors import SearchStopped, SettingError, StopReason
from fairness_engine.events import Event, Progress, ResultReady, Stopped
from fairness_engine.intervals import share_interval
from fairness_engine.measures import plausible_finds
from fairness_engine.measures.plausibility import PHASE
from fairness_engine.measures.results import ExactCount, Share
from fairness_engine.models.model import Model
from fairness_engine.oracle.domain import Domain
from fairness_engine.oracle.variants import settled_margins

if TYPE_CHECKING:
    from fairness_engine.measures.plausibility.plausibility import Plausibility

MAX_ROWS = 1e9
"""Individuals times variants that are still counted: a matter of minutes with a small network."""
_MAX_INNER_ROWS = 256
"""Rows that one outer row stands for, so that a slow model can still be cancelled."""
_MAX_BATCH_ROWS = 1 << 16
_REPORT_SECONDS = 0.25


def n_rows_to_count(domain: Domain) -> float:
    """How many rows the model must decide for the exact share; infinity with a continuous attribute."""
    return domain.n_individuals * domain.n_variants


def can_count(domain: Domain) -> bool:
    """True when the space is small enough to be counted, and nothing in it is fixed to the data's values."""
    return n_rows_to_count(domain) <= MAX_ROWS and not domain.scope.fixed


def run_exact(
    model: Model,
    domain: Domain,
    clock: Clock = NO_LIMIT,
    learn: Callable[[], Plausibility] | None = None,
    seed: int = 0,
) -> Iterator[Event]:
    """Count every discriminatory individual of a domain.

    Args:
        model, domain: what is assessed, and where.
        clock: its seconds are greater than 0, and begin here; the count is given up when it is over.
        learn: makes what says who could exist.
        seed: of who is judged by that, where there are too many to judge all.

    Yields:
        ``Progress`` at most four times a second; at the end of a whole count one ``ResultReady`` named ``count``, an
        ``ExactCount``; and one ``Stopped``, last. A count that was ended early gives no share: what it went through is
        no sample of the domain.

    Raises:
        SettingError: the space is too large or continuous, or attributes are fixed to the data's values.

    Reference: paper 000 (AEQUITAS), section 4.3, estimates this share by sampling.
    """
    _check(domain, clock.max_seconds)
    clock = clock.anew()
    last_report = 0.0
    n = n_found = evaluations = 0
    reason = StopReason.EXHAUSTED
    found = _Drawn(max(1, plausible_finds.MAX_JUDGED // domain.n_variants), np.random.default_rng(seed))
    try:
        for verdicts, n_evaluated in decide_all(model, domain, clock):
            hits = np.flatnonzero(verdicts)
            found.add(hits + n)
            n += len(verdicts)
            n_found += len(hits)
            evaluations += n_evaluated
            seconds = clock.seconds
            if seconds - last_report >= _REPORT_SECONDS:
                last_report = seconds
                yield Progress(evaluations, seconds, n, n_found, "counting")
    except SearchStopped as stop:
        reason = stop.reason
    yield Progress(evaluations, clock.seconds, n, n_found, "counting")
    if reason is StopReason.EXHAUSTED:
        plausible = None
        if learn is not None and n_found:
            rows = _combinations(domain, domain.free, found.numbers())
            n_hits = n_judged = 0
            for n_of_part, n_part in plausible_finds.plausible_finds(model, domain, rows, learn()):
                n_hits += n_of_part
                n_judged += n_part
                yield Progress(evaluations, clock.seconds, n, n_found, PHASE)  # a sign of life
                if clock.is_over:
                    break
            else:
                plausible = Share(n_hits, n_judged, n_hits / n_judged, *share_interval(n_hits, n_judged, n_found))
        yield ResultReady("count", encode(ExactCount(n_found, n, n_found / n, plausible)))
    yield Stopped(reason, evaluations, clock.seconds, n, n_found)


class _Drawn:
    """Some of very many numbers, drawn evenly; all of them where there are not more.

    Args:
        n_most: how many are kept.
        rng: draws the lots.
    """

    def __init__(self, n_most: int, rng: np.random.Generator) -> None:
        self._n_most = n_most
        self._rng = rng
        self._highest = 1.0
        self._lots: list[FloatArray] = []
        self._numbers: list[IntArray] = []
        self._n = 0

    def add(self, numbers: IntArray) -> None:
        """Let them draw lots; those with the lowest are kept."""
        lots = self._rng.random(len(numbers))
        is_low = lots < self._highest
        self._lots.append(lots[is_low])
        self._numbers.append(numbers[is_low])
        self._n += int(is_low.sum())
        if self._n > 2 * self._n_most:  # now and then: each time would take longer than the count itself
            self._keep_lowest()

    def _keep_lowest(self) -> None:
        lots = np.concatenate(self._lots)
        numbers = np.concatenate(self._numbers)
        if len(lots) > self._n_most:
            kept = np.argpartition(lots, self._n_most)[: self._n_most]
            lots = lots[kept]
            numbers = numbers[kept]
            self._highest = float(lots.max())
        self._lots = [lots]
        self._numbers = [numbers]
        self._n = len(lots)

    def numbers(self) -> IntArray:
        """Those that are kept, in no order."""
        self._keep_lowest()
        return self._numbers[0]


def _check(domain: Domain, max_seconds: float) -> None:
    if not max_seconds > 0:
        raise SettingError(f"max_seconds must be greater than 0, got {max_seconds}.")
    n_rows = n_rows_to_count(domain)
    if n_rows > MAX_ROWS:
        size = "continuous" if math.isinf(n_rows) else f"{n_rows:,.0f} rows"
        raise SettingError(
            f"An exact count needs a space of at most {MAX_ROWS:,.0f} rows, but this one is {size}. "
            "Narrow the limits of some attributes, or estimate the share from a sample."
        )
    if domain.scope.fixed:
        names = ", ".join(domain.scope.fixed)
        raise SettingError(
            f"An exact count goes through every value of every attribute, but {names} must not vary. "
            "Release it and narrow its limits instead, or estimate the share from a sample."
        )


def individuals(domain: Domain, start: int, stop: int) -> FloatArray:
    """Individuals number ``start`` to ``stop - 1`` of a domain, ``(stop - start, n_columns)``.

    Numbers are mixed-radix over the free columns, the last one fastest; protected columns hold their lowest value.
    """
    return _combinations(domain, domain.free, np.arange(start, stop))


def _combinations(domain: Domain, columns: IntArray, numbers: IntArray) -> FloatArray:
    """Rows with these numbers of those that differ in some columns only; the others hold their lowest value."""
    rows = np.tile(domain.low, (len(numbers), 1))
    if not len(columns):
        return rows
    shape = tuple(int(count) for count in domain.n_values[columns])
    digits = np.unravel_index(numbers, shape)
    for column, digit in zip(columns, digits, strict=True):
        rows[:, column] += domain.unit[column] * digit
    return rows


def decide_all(model: Model, domain: Domain, clock: Clock = NO_LIMIT) -> Iterator[tuple[BoolArray, int]]:
    """Which individuals are discriminatory, in the order of ``individuals``, and how many rows the model decided for
    it.

    The last columns are treated like the protected ones: all combinations of their values are variants of one outer
    row. A network then computes its first layer once an outer row, and hardly any row is ever written out.

    Yields:
        ``(is_discriminatory (n,), n_evaluated)`` a batch.

    Raises:
        SearchStopped: the clock is over, before a batch.
    """
    n_outer_columns, n_inner = _split(domain)
    outer = domain.free[:n_outer_columns]
    inner = domain.free[n_outer_columns:]
    n_outer = int(np.prod(domain.n_values[outer]))
    columns = np.concatenate([inner, domain.protected])
    inner_values = _combinations(domain, inner, np.arange(n_inner))[:, inner]
    values = np.array([(*a, *b) for a, b in itertools.product(inner_values.tolist(), domain.variant_values.tolist())])
    for part in Batches(clock, first=1, most=max(1, model.breadth * _MAX_BATCH_ROWS // len(values))).over(n_outer):
        rows = _combinations(domain, outer, np.arange(part.start, part.stop))
        yield decide_variants(model, domain, rows, columns, values)


def _split(domain: Domain) -> tuple[int, int]:
    """How many free columns are outer, and how many combinations the others have."""
    n_outer = len(domain.free)
    n_inner = 1
    for column in domain.free[::-1]:
        n_values = int(domain.n_values[column])
        if n_inner * n_values * domain.n_variants > _MAX_INNER_ROWS:
            break
        n_outer = n_outer - 1
        n_inner = n_inner * n_values
    return n_outer, n_inner


def decide_variants(
    model: Model, domain: Domain, rows: FloatArray, columns: IntArray, values: FloatArray
) -> tuple[BoolArray, int]:
    """Verdicts on the individuals of some outer rows, and how many rows the model decided.

    Args:
        model, domain: what is assessed, and where.
        rows: outer rows ``(n_outer, n_columns)``.
        columns: the inner and the protected columns.
        values: what they hold ``(n_inner * n_variants, len(columns))``, the variants of an individual together.
    """
    n_variants = domain.n_variants
    n_rows = len(rows) * len(values)
    if domain.scope.score_gap > 0 or not model.is_binary:
        every = np.repeat(rows, len(values), axis=0)
        every.reshape(len(rows), len(values), -1)[:, :, columns] = values
        return _by_scores(model, domain, every), n_rows

    def people(near: IntArray) -> FloatArray:
        chosen = rows[near // len(values)]
        chosen[:, columns] = values[near % len(values)]
        return chosen

    margins = settled_margins(model, model.variant_margins(rows, columns, values), people)[:, 0].reshape(-1, n_variants)
    lowest = margins[:, 0].copy()
    highest = margins[:, 0].copy()
    for i in range(1, n_variants):  # a reduction along a short last axis is thirty times slower
        np.minimum(lowest, margins[:, i], out=lowest)
        np.maximum(highest, margins[:, i], out=highest)
    return np.asarray((highest > 0) & (lowest <= 0)), n_rows


def _by_scores(model: Model, domain: Domain, rows: FloatArray) -> BoolArray:
    """Verdicts from full scores of ``rows (n_individuals * n_variants, n_columns)``, the variants of an individual
    together.
    """
    scores = model.scores(rows)
    if domain.scope.score_gap > 0:
        by_row = scores.reshape(len(rows) // domain.n_variants, domain.n_variants, -1)
        return np.asarray(np.ptp(by_row, axis=1).max(axis=1) > domain.scope.score_gap)
    decisions = model.decide(scores).reshape(-1, domain.n_variants)
    return np.asarray(decisions.min(axis=1) != decisions.max(axis=1))
