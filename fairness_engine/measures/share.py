"""How often: the share of discriminatory individuals, with an interval (paper 000, section 4.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.errors import SearchStopped, SettingError, StopReason
from fairness_engine.events import Event, Progress, ShareEstimated, Stopped
from fairness_engine.intervals import share_interval
from fairness_engine.models.model import Model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Distribution, Domain, Ranges

N_TRIALS = 100
"""Trials in which the draws are made; the convergence curve has one point a trial."""


def run_estimate(
    model: Model,
    domain: Domain,
    data_rows: FloatArray,
    distribution: str,
    n_samples: int,
    seed: int,
    clock: Clock = NO_LIMIT,
    budget: Budget | None = None,
    incomplete_rows: FloatArray | None = None,
) -> Iterator[Event]:
    """Estimate the share of discriminatory individuals from independent draws.

    The paper's K trials of m rows are K*m draws: the interval is of the pooled count, and exact. The data's rows are
    drawn without replacement, so all of them are the most; when all were drawn, their share is known and has no
    interval.

    Args:
        model, domain: what is assessed, and where.
        data_rows: rows of the data ``(n_rows, n_columns)``; those outside the domain are left out.
        distribution: a ``Distribution``.
        n_samples: how many draws.
        seed: the only source of chance.
        clock: asked before every batch; its seconds begin here.
        budget: further limits.
        incomplete_rows: more rows of the data, which miss cells (NaN) and which the model answers; drawn with the
            data's rows.

    Yields:
        ``ShareEstimated`` and ``Progress`` after every trial, and one ``Stopped``, last.

    Raises:
        SettingError: no draws asked for, an unknown distribution, or no row of the data in the domain.

    Reference: paper 000 (AEQUITAS), section 4.3.
    """
    from fairness_engine.oracle.oracle import Oracle  # brings numba; the app needs the interval alone

    draw, n_all = _sampler(domain, data_rows, distribution, n_samples, incomplete_rows)
    limits = budget or Budget(n_samples * domain.n_variants)
    clock = clock.anew()
    oracle = Oracle(model, domain, limits, clock)
    # whoever misses a cell is asked of the model in its slower form, which takes such rows
    for_incomplete = Oracle(model.of_incomplete or model, domain, limits, clock)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    rows_a_trial = math.ceil(n_samples / N_TRIALS)
    reason = StopReason.EXHAUSTED
    n_hits = 0
    n = 0
    try:
        for rows in draw(rng, rows_a_trial):
            misses_cell = np.isnan(rows).any(axis=1)
            hits = int(oracle.test(rows[~misses_cell]).sum()) + int(for_incomplete.test(rows[misses_cell]).sum())
            n = n + len(rows)
            n_hits = n_hits + hits
            low, high = share_interval(n_hits, n, n_all)
            yield ShareEstimated(n_hits / n, low, high, n_hits, n, distribution)
            yield Progress(oracle.evaluations + for_incomplete.evaluations, oracle.seconds, n, n_hits, "estimating")
    except SearchStopped as stop:
        reason = stop.reason
    yield Stopped(reason, oracle.evaluations + for_incomplete.evaluations, oracle.seconds, n, n_hits)


Sampler = Callable[[np.random.Generator, int], Iterator[FloatArray]]


def _sampler(
    domain: Domain, data_rows: FloatArray, distribution: str, n_samples: int, incomplete_rows: FloatArray | None = None
) -> tuple[Sampler, int | None]:
    """A function that yields all draws, ``n`` rows at a time, and of how many they are drawn without replacement.

    Incomplete rows are drawn as they stand or not at all. ``None``: draws are independent.
    """
    if distribution not in list(Distribution):
        raise SettingError(f"The distribution must be one of {', '.join(Distribution)}, got '{distribution}'.")
    if n_samples < 1:
        raise SettingError(f"An estimate needs at least 1 draw, got {n_samples}.")
    rows = data_rows[domain.contains(data_rows)] if len(data_rows) else data_rows
    if distribution != Distribution.UNIFORM and not len(rows):
        raise SettingError("No row of the data lies in the ranges of the scope. Widen the limits, or draw uniformly.")
    if distribution == Distribution.DATA:
        people = rows
        if incomplete_rows is not None and len(incomplete_rows):
            people = np.concatenate([rows, incomplete_rows[domain.contains(domain.filled(incomplete_rows))]])
        return partial(_without_replacement, people, n_samples), len(people)

    def draws(rng: np.random.Generator, n: int) -> Iterator[FloatArray]:
        for begin in range(0, n_samples, n):
            size = min(n, n_samples - begin)
            if distribution == Distribution.UNIFORM:
                yield domain.sample(size, rng, rows)
            else:
                yield perturb(domain, rows[rng.integers(len(rows), size=size)], rng)

    return draws, None


def _without_replacement(people: FloatArray, n_samples: int, rng: np.random.Generator, n: int) -> Iterator[FloatArray]:
    order = rng.permutation(len(people))[:n_samples]
    for begin in range(0, len(order), n):
        yield people[order[begin : begin + n]]


def perturb(domain: Ranges, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Each row with one random non-protected attribute moved by one unit, clipped to the domain; new rows.

    Reference: paper 001 (TestSGD), section 4.3, the sampling of Algorithm 2, which clips nothing and moves decimals by
        0.01.
    """
    out = rows.copy()
    if not len(domain.movable):
        return out
    columns = domain.movable[rng.integers(len(domain.movable), size=len(rows))]
    signs = np.where(rng.random(len(rows)) < 0.5, -1.0, 1.0)
    index = np.arange(len(rows))
    moved = out[index, columns] + signs * domain.unit[columns]
    out[index, columns] = np.clip(moved, domain.low[columns], domain.high[columns])
    return out
