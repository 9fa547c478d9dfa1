"""The driver: it runs any technique against an oracle and says what happens, at most four times a second, and of the
first people at once.

A technique cannot lie: what it proposes is tested, replayed and counted by the oracle; the driver only passes
on what the oracle holds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairness_engine.arrays import FloatArray
from fairness_engine.clock import NO_LIMIT, Clock
from fairness_engine.errors import SearchStopped, StopReason
from fairness_engine.events import Event, PairsFound, PeopleSampled, Progress, Step, Stopped
from fairness_engine.models.model import Model
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Domain
from fairness_engine.oracle.nearness import Nearness
from fairness_engine.oracle.oracle import Oracle
from fairness_engine.search.technique import Technique

REPORT_SECONDS = 0.25
"""At most one report in this time."""
SAMPLE_SECONDS = 2.0
"""A search that goes on is watched this often."""
_MAX_PAIRS_AN_EVENT = 10_000


def rng_of(seed: int) -> np.random.Generator:
    """The only source of chance of a search."""
    return np.random.default_rng(np.random.SeedSequence(seed))


def run_search(
    technique: Technique,
    model: Model,
    domain: Domain,
    start_rows: FloatArray,
    budget: Budget,
    seed: int,
    clock: Clock = NO_LIMIT,
    nearness: Nearness | None = None,
) -> Iterator[Event]:
    """Search for discriminatory pairs until the budget is spent or the technique is done.

    The same arguments find the same pairs in the same order, whatever the machine, as long as the limit that ends
    the search is not a number of seconds.

    Args:
        technique: what proposes rows.
        model, domain: what is assessed, and where.
        start_rows: rows of the data ``(n_rows, n_columns)``; those outside the domain are left out.
        budget: when to stop.
        seed: the only source of chance.
        clock: ends the search, too; asked before every batch.
        nearness: says who could exist, for a technique that is to find such people only.

    Yields:
        ``Progress`` and ``PairsFound`` at most four times a second, the first pairs at once, ``PeopleSampled`` every
        two seconds and at the end, the technique's own findings, and exactly one ``Stopped``, last.
    """
    oracle = Oracle(model, domain, budget, clock, nearness)
    rng = rng_of(seed)
    starts = start_rows[domain.contains(start_rows)] if len(start_rows) else start_rows
    reason = StopReason.EXHAUSTED
    phase = ""
    last_report = 0.0
    last_sample = 0.0
    has_told = False
    try:
        for event in technique.search(oracle, starts, rng):
            if not isinstance(event, Step):
                yield event
                continue
            phase = event.phase
            oracle.name_step(phase)
            is_first = oracle.n_found > 0 and not has_told
            if is_first or oracle.seconds - last_report >= REPORT_SECONDS:
                yield from _report(oracle, phase)
                last_report = oracle.seconds
                has_told = oracle.n_found > 0
                if last_report - last_sample >= SAMPLE_SECONDS:
                    yield _sampled(oracle)
                    last_sample = oracle.seconds
    except SearchStopped as stop:
        reason = stop.reason
    oracle.name_step(phase)
    yield from _report(oracle, phase)
    yield _sampled(oracle)
    yield Stopped(reason, oracle.evaluations, oracle.seconds, oracle.n_tried, oracle.n_found, oracle.n_rejected)


def _report(oracle: Oracle, phase: str) -> Iterator[Event]:
    pairs = oracle.take_found()
    for start in range(0, len(pairs), _MAX_PAIRS_AN_EVENT):
        yield PairsFound(pairs[start : start + _MAX_PAIRS_AN_EVENT])
    yield Progress(oracle.evaluations, oracle.seconds, oracle.n_tried, oracle.n_found, phase)


def _sampled(oracle: Oracle) -> PeopleSampled:
    sample = oracle.sample()
    return PeopleSampled(sample.arrays, sample.phases)
