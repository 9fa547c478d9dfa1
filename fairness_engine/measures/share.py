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
"""Trials in which the draws are made; the convergence curve has one point a trial, and more of large ones."""
_MAX_TRIAL_ROWS = 10_000_000
_MAX_TRIAL_CELLS = 100_000_000
"""What one trial holds at most, 0.8 GB: of more draws there are more trials."""
_FIRST_ROWS = 1_000
_MAX_ROWS_AT_ONCE = 1_000_000
"""A larger trial is tested and counted in parts: a limit of time leaves what was counted until then."""
_MAX_KEPT_CELLS = 50_000_000
"""Of individuals found, who are kept until the plausible among them are counted."""


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
        ``ShareEstimated`` and ``Progress`` after every trial, in large ones also on the way, the result
        ``plausible_share`` (a ``Share`` of those who miss no cell: individuals with a pair of two plausible people),
        and one ``Stopped``, last.

    Raises:
        SettingError: no draws asked for, an unknown distribution, or no row of the data in the domain.

    Reference: paper 000 (AEQUITAS), section 4.3.
    """
    from fairness_engine.oracle.oracle import Oracle  # brings numba; the app needs the interval alone

    draw, n_all, n_all_complete = _sampler(domain, data_rows, distribution, n_samples, incomplete_rows)
    limits = budget or Budget(n_samples * domain.n_variants)
    clock = clock.anew()
    oracle = Oracle(model, domain, limits, clock)
    # whoever misses a cell is asked of the model in its slower form, which takes such rows
    for_incomplete = Oracle(model.of_incomplete or model, domain, limits, clock)
    rng = np.random.default_rng(np.random.SeedSequence(seed))
    most = min(_MAX_TRIAL_ROWS, max(1, _MAX_TRIAL_CELLS // domain.n_columns))
    rows_a_trial = min(most, math.ceil(n_samples / N_TRIALS))
    reason = StopReason.EXHAUSTED
    n_hits = 0
    n = 0
    found = _Found(model, domain, rows_a_trial, n_all_complete)
    try:
        for rows in _parts(draw(rng, rows_a_trial)):
            misses_cell = np.isnan(rows).any(axis=1)
            complete = rows[~misses_cell]
            is_hit = oracle.test(complete)
            hits = int(is_hit.sum()) + int(for_incomplete.test(rows[misses_cell]).sum())
            found.add(complete[is_hit], len(complete), len(rows))
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


def _parts(trials: Iterator[FloatArray]) -> Iterator[FloatArray]:
    """Large trials in parts, each at most as large as all before it, so that little is lost when time is over before a
    slow model has decided a part; other trials as they are.
    """
    n_done = 0
    for rows in trials:
        begin = 0
        while begin < len(rows):
            size = _FIRST_ROWS if n_done == 0 else min(n_done, _MAX_ROWS_AT_ONCE)
            part = rows[begin : begin + size] if len(rows) > _MAX_ROWS_AT_ONCE else rows
            yield part
            begin += len(part)
            n_done += len(part)


class _Found:
    """The discriminatory individuals of an estimate, part by part.

    Args:
        model, domain: of the estimate.
        rows_a_trial: draws of a trial.
        n_all: of how many the draws are made without replacement; ``None``: they are independent.

    Attributes:
        n: draws so far that miss no cell.
    """

    def __init__(self, model: Model, domain: Domain, rows_a_trial: int, n_all: int | None) -> None:
        self.n = 0
        self._model = model
        self._domain = domain
        self._rows_a_trial = rows_a_trial
        self._n_all = n_all
        self._n_drawn = 0
        self._n_found = 0
        self._kept: list[tuple[FloatArray, int, int]] = []
        self._is_full = False

    def add(self, rows: FloatArray, n: int, n_drawn: int) -> None:
        """Take those found of a part ``(n_hits, n_columns)``, of ``n`` draws that miss no cell among ``n_drawn``."""
        if self._n_drawn % self._rows_a_trial == 0 and not self._is_full:
            # the trials that will be judged hold about MAX_JUDGED people: later ones need not be kept
            n_people = self._n_found * self._domain.n_variants
            n_cells = self._n_found * self._domain.n_columns
            self._is_full = n_people > 2 * plausible_finds.MAX_JUDGED and n_cells > _MAX_KEPT_CELLS
        if not self._is_full:
            self._kept.append((rows, n, n_drawn))
        self.n += n
        self._n_drawn += n_drawn
        self._n_found += len(rows)

    def plausible_shares(self, plausibility: Plausibility) -> Iterator[Share | None]:
        """How many individuals have a pair of two plausible people: ``None`` after each part, and then the share. Of
        very many, those of the first trials are judged: these are as random as all, whatever was found in them.
        """
        n_people = self._n_found * self._domain.n_variants
        n_trials = math.ceil(self._n_drawn / self._rows_a_trial)
        n_judged = math.ceil(n_trials * min(1.0, plausible_finds.MAX_JUDGED / max(n_people, 1)))
        n_hits = 0
        n = 0
        n_drawn = 0
        for rows, n_complete, n_of_part in self._kept:
            if n_drawn >= n_judged * self._rows_a_trial:
                break
            judged = plausible_finds.plausible_finds(self._model, self._domain, rows, plausibility)
            n_hits += sum(n_of_rows for n_of_rows, _ in judged)
            n += n_complete
            n_drawn += n_of_part
            yield None
        low, high = share_interval(n_hits, n, self._n_all)
        yield Share(n_hits, n, n_hits / n if n else 0.0, low, high)


Sampler = Callable[[np.random.Generator, int], Iterator[FloatArray]]


def _sampler(
    domain: Domain, data_rows: FloatArray, distribution: str, n_samples: int, incomplete_rows: FloatArray | None = None
) -> tuple[Sampler, int | None, int | None]:
    """A function that yields all draws, ``n`` rows at a time, of how many they are drawn without replacement, and how
    many of these miss no cell.

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
        return partial(_without_replacement, people, n_samples), len(people), len(rows)

    def draws(rng: np.random.Generator, n: int) -> Iterator[FloatArray]:
        for begin in range(0, n_samples, n):
            size = min(n, n_samples - begin)
            if distribution == Distribution.UNIFORM:
                yield domain.sample(size, rng, rows)
            else:
                yield perturb(domain, rows[rng.integers(len(rows), size=size)], rng)

    return draws, None, None


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
