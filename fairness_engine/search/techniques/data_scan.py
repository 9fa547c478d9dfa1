"""Data scan: every row of the data set, tested once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from fairness_engine.arrays import FloatArray, IntArray
from fairness_engine.clock import Batches
from fairness_engine.codec import encode
from fairness_engine.errors import SearchStopped
from fairness_engine.events import Event, ResultReady, Step
from fairness_engine.oracle.budget import Budget
from fairness_engine.search.results import ScanCounts
from fairness_engine.search.technique import Technique
from fairness_engine.settings import setting

if TYPE_CHECKING:
    from fairness_engine.oracle.domain import Domain
    from fairness_engine.oracle.oracle import Oracle


DATA_SCAN = "data-scan"
_FIRST_BATCH = 16
"""Rows tested in the first step; each step takes twice as many as the one before."""


def scan_budget(n_rows: int, domain: Domain) -> Budget:
    """What it takes to test every one of so many rows: the default of a scan."""
    return Budget(max(1, n_rows) * domain.n_variants)


def scan_order(n_people: int, rng: np.random.Generator) -> IntArray:
    """In which order a scan tests people: their positions ``(n_people,)``."""
    return rng.permutation(n_people)


def scan_text(counts: ScanCounts) -> str:
    """What a scan tested and what it did not, in sentences."""
    n_tested = counts.n_tested
    n_people = counts.n_people
    text = f"Tested {n_tested:,} of {n_people:,} people of the data."
    if n_tested < n_people:
        text += f" Nothing is known of the other {n_people - n_tested:,}: the limits of the run ended it before."
    reasons = (
        (counts.n_dropped, "hold a missing or unknown value"),
        (counts.n_outside, "lie outside the limits of the scope"),
        (counts.n_not_drawn, "were not drawn as start rows"),
    )
    left_out = [f"{n:,} {why}" for n, why in reasons if n]
    return f"{text} Of the file's other rows {', '.join(left_out)}." if left_out else text


@dataclass(frozen=True)
class DataScan(Technique):
    """Every row of the data set, in random order: all real people, a few evaluations each.

    The baseline that a search has to beat for plausible pairs: all but the protected values are a real person's. It
    ends when every row was tested.
    """

    name: ClassVar[str] = DATA_SCAN
    title: ClassVar[str] = "Data scan"
    summary: ClassVar[str] = (
        "Tests every person of the data set. The place to start: real people, but for protected values."
    )
    reference: ClassVar[str] = "baseline"
    moves_rows: ClassVar[bool] = False

    batch: int = setting(
        4096,
        "Most rows tested in one step; the first steps are small, so that a slow model shows something soon.",
        minimum=1,
        maximum=1_000_000,
        unit="rows",
    )

    def search(self, oracle: Oracle, start_rows: FloatArray, rng: np.random.Generator) -> Iterator[Event]:
        """Test every start row once; the result ``scan`` says how many people there were, and how many were tested."""
        order = scan_order(len(start_rows), rng)
        n_tested = 0
        size = min(_FIRST_BATCH, self.batch)
        steps = Batches(oracle.clock, self.batch, self.batch * oracle.model.breadth)
        try:
            while n_tested < len(order):
                people = start_rows[order[n_tested : n_tested + size]]
                began = oracle.seconds
                oracle.probe(people)
                steps.learn(len(people), oracle.seconds - began)
                n_tested += len(people)
                size = min(2 * size, max(self.batch, steps.size()))
                yield Step("scanning the data")
        except SearchStopped:
            n_tested += oracle.n_tested_of(start_rows[order[n_tested : n_tested + size]])
            yield ResultReady("scan", encode(ScanCounts(n_tested, len(order))))
            raise
        yield ResultReady("scan", encode(ScanCounts(n_tested, len(order))))
