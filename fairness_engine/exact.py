"""The exact share of discriminatory individuals, by going through all of them, where the space is small enough.

No draw, no interval: every individual of the domain is decided with every combination of protected values. Rows whose fast margin
is too near the threshold are decided again at full precision.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from fairness_engine.domain import Domain
from fairness_engine.errors import SettingError
from fairness_engine.events import Event, FloatArray, Progress, ShareEstimated, Stopped, StopReason
from fairness_engine.models.model import Model

MAX_ROWS = 1e9
"""Individuals times variants that are still counted: a matter of minutes with a small network."""
EXACT = "exact"
"""What ``ShareEstimated.distribution`` says of a share that no draw was needed for."""
_BLOCK_ROWS = 1 << 16
_REPORT_SECONDS = 0.25

BoolArray = NDArray[np.bool_]


def n_rows_to_count(domain: Domain) -> float:
    """How many rows the model must decide for the exact share; infinity with a continuous attribute."""
    return domain.n_individuals * domain.n_variants


def can_count(domain: Domain) -> bool:
    """True when the space is small enough to be counted, and nothing in it is fixed to the data's values."""
    return n_rows_to_count(domain) <= MAX_ROWS and not domain.scope.fixed


def run_exact(
    model: Model,
    domain: Domain,
    is_cancelled: Callable[[], bool] = lambda: False,
    max_seconds: float = math.inf,
) -> Iterator[Event]:
    """Count every discriminatory individual of a domain.

    Args:
        model, domain: what is assessed, and where.
        is_cancelled: asked before every block.
        max_seconds: greater than 0; the count is given up after it.

    Yields:
        ``Progress`` at most four times a second; at the end of a whole count one ``ShareEstimated`` of distribution
        ``exact``, whose interval is the share itself; and one ``Stopped``, last. A count that was ended early
        gives no share: what it went through is no sample of the domain.

    Raises:
        SettingError: the space is too large or continuous, or attributes are fixed to the data's values.

    Reference: paper 000 (AEQUITAS), section 4.3, estimates this share by sampling.
    """
    _check(domain, max_seconds)
    n_individuals = int(domain.n_individuals)
    n_in_block = max(1, _BLOCK_ROWS // domain.n_variants)
    started = last_report = time.perf_counter()
    n = n_found = evaluations = 0
    reason = None
    while n < n_individuals:
        now = time.perf_counter()
        reason = _why_stop(is_cancelled, now - started, max_seconds)
        if reason is not None:
            break
        rows = individuals(domain, n, min(n + n_in_block, n_individuals))
        verdicts, n_evaluated = decide_individuals(model, domain, rows)
        n, n_found, evaluations = n + len(rows), n_found + int(verdicts.sum()), evaluations + n_evaluated
        if now - last_report >= _REPORT_SECONDS:
            last_report = now
            yield Progress(evaluations, now - started, n, n_found, "counting")
    seconds = time.perf_counter() - started
    yield Progress(evaluations, seconds, n, n_found, "counting")
    if n == n_individuals:
        share = n_found / n_individuals
        yield ShareEstimated(share, share, share, n_found, n_individuals, EXACT)
    yield Stopped(reason or StopReason.EXHAUSTED, evaluations, seconds, n, n_found)


def _why_stop(is_cancelled: Callable[[], bool], seconds: float, max_seconds: float) -> StopReason | None:
    if is_cancelled():
        return StopReason.CANCELLED
    return StopReason.SECONDS if seconds >= max_seconds else None


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
    free = domain.free
    rows = np.tile(domain.low, (stop - start, 1))
    if not len(free):
        return rows
    shape = tuple(int(count) for count in domain.n_values[free])
    digits = np.unravel_index(np.arange(start, stop), shape)
    for column, digit in zip(free, digits, strict=True):
        rows[:, column] += domain.unit[column] * digit
    return rows


def decide_individuals(model: Model, domain: Domain, rows: FloatArray) -> tuple[BoolArray, int]:
    """Which rows are discriminatory ``(n_rows,)``, and how many rows the model decided for it."""
    n_variants = domain.n_variants
    if domain.scope.score_gap > 0 or not model.is_binary:
        return _by_scores(model, domain, domain.variants(rows)), len(rows) * n_variants
    margins = model.variant_margins(rows, domain.protected, domain.variant_values)[:, 0].reshape(-1, n_variants)
    verdicts: BoolArray = np.asarray((margins > model.rounding).any(axis=1) & (margins <= -model.rounding).any(axis=1))
    unsure = np.flatnonzero(~verdicts & (np.abs(margins) <= model.rounding).any(axis=1))
    if len(unsure):
        verdicts[unsure] = _by_scores(model, domain, domain.variants(rows[unsure]))
    return verdicts, (len(rows) + len(unsure)) * n_variants


def _by_scores(model: Model, domain: Domain, variants: FloatArray) -> BoolArray:
    """As ``decide_individuals``, from full scores of ``variants (n_rows, n_variants, n_columns)``."""
    scores = model.scores(variants.reshape(-1, domain.n_columns))
    if domain.scope.score_gap > 0:
        by_row = scores.reshape(len(variants), domain.n_variants, -1)
        return np.asarray(np.ptp(by_row, axis=1).max(axis=1) > domain.scope.score_gap)
    decisions = model.decide(scores).reshape(len(variants), domain.n_variants)
    return np.asarray(decisions.min(axis=1) != decisions.max(axis=1))
