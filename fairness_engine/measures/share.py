"""How often: the share of discriminatory individuals, with an interval (paper 000, section 4.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.codec import encode
from fairness_engine.errors import SearchStopped, SettingError, StopReason
from fairness_engine.events import Event, Progress, ResultReady, ShareEstimated, Stopped
from fairness_engine.intervals import share_interval
from fairness_engine.measures import plausible_finds
from fairness_engine.measures.plausibility import PHASE
from fairness_engine.measures.results import Share
from fairness_engine.models.model import Model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Distribution, Domain, Ranges

if TYPE_CHECKING:
    from fairness_engine.measures.plausibility.plausibility import Plausibility

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
    learn: Callable[[], Plausibility] | None = None,
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
        learn: makes what says who could exist.

    Yields:
        ``ShareEstimated`` and ``Progress`` after every trial, the result ``plausible_share`` (a ``Share`` of those who
        miss no cell: individuals with a pair of two plausible people), and one ``Stopped``, last.

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
    found = _Found(model, domain, None if incomplete_rows is not None and len(incomplete_rows) else n_all)
    try:
        for rows in draw(rng, rows_a_trial):
            misses_cell = np.isnan(rows).any(axis=1)
            complete = rows[~misses_cell]
            is_hit = oracle.test(complete)
            hits = int(is_hit.sum()) + int(for_incomplete.test(rows[misses_cell]).sum())
            found.add(complete[is_hit], len(complete))
            n = n + len(rows)
            n_hits = n_hits + hits
            low, high = share_interval(n_hits, n, n_all)
            yield ShareEstimated(n_hits / n, low, high, n_hits, n, distribution)
            yield Progress(oracle.evaluations + for_incomplete.evaluations, oracle.seconds, n, n_hits, "estimating")
    except SearchStopped as stop:
        reason = stop.reason
    if learn is not None and reason is StopReason.EXHAUSTED and found.n:
        for share in found.plausible_shares(learn()):
            if share is not None:
                yield ResultReady("plausible_share", encode(share))
            elif clock.is_over:
                break
            else:  # a sign of life, for a slow model takes its time
                yield Progress(oracle.evaluations + for_incomplete.evaluations, oracle.seconds, n, n_hits, PHASE)
    yield Stopped(reason, oracle.evaluations + for_incomplete.evaluations, oracle.seconds, n, n_hits)


class _Found:
    """The discriminatory individuals of an estimate, trial by trial.

    Args:
        model, domain: of the estimate.
        n_all: of how many the draws are made without replacement; ``None``: they are independent.

    Attributes:
        n: draws so far.
    """

    def __init__(self, model: Model, domain: Domain, n_all: int | None) -> None:
        self.n = 0
        self._model = model
        self._domain = domain
        self._n_all = n_all
        self._trials: list[tuple[FloatArray, int]] = []

    def add(self, rows: FloatArray, n: int) -> None:
        """Take those found of a trial of ``n`` draws ``(n_hits, n_columns)``."""
        self.n += n
        self._trials.append((rows, n))

    def plausible_shares(self, plausibility: Plausibility) -> Iterator[Share | None]:
        """How many individuals have a pair of two plausible people: ``None`` after each trial, and then the share. Of
        very many, those of the first trials are judged: these are as random as all, whatever was found in them.
        """
        n_people = sum(len(rows) for rows, _ in self._trials) * self._domain.n_variants
        n_judged = math.ceil(len(self._trials) * min(1.0, plausible_finds.MAX_JUDGED / max(n_people, 1)))
        n_hits = 0
        n = 0
        for rows, n_draws in self._trials[:n_judged]:
            judged = plausible_finds.plausible_finds(self._model, self._domain, rows, plausibility)
            n_hits += sum(n_of_part for n_of_part, _ in judged)
            n += n_draws
            yield None
        low, high = share_interval(n_hits, n, self._n_all)
        yield Share(n_hits, n, n_hits / n if n else 0.0, low, high)


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
