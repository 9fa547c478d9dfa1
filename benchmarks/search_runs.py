"""Runs of searches on one case, each pair judged again by the case's own evaluation."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.aequitas import bare_rate
from benchmarks.search_cases import Case
from fairness_engine.errors import StopReason
from fairness_engine.events import PairsFound, Stopped
from fairness_engine.measures.diversity import Surrogate, expected_leaves, fit_surrogate
from fairness_engine.measures.plausibility.plausibility import Plausibility
from fairness_engine.oracle.budget import Budget
from fairness_engine.pairs import Pairs
from fairness_engine.search import requirements
from fairness_engine.search.driver import run_search
from fairness_engine.search.registry import TECHNIQUES

N_PLAUSIBLE = 2_000
"""Pairs of a run whose plausibility is measured, drawn evenly."""
_WARM_SEED = 1_000


@dataclass(frozen=True)
class Outcome:
    """What one run came to."""

    evaluations: int
    seconds: float
    n_tried: int
    n_found: int
    is_cut: bool
    diversity: float | None
    plausible: float | None


class Bench:
    """Runs searches on one case.

    Args:
        case: the question.
        n_seeds: every figure is of so many runs.
    """

    def __init__(self, case: Case, n_seeds: int) -> None:
        self.case = case
        self.n_seeds = n_seeds
        self.bare = bare_rate(case.model, case.domain)
        self.n_pairs = self.n_wrong = self.n_runs = 0
        self._done: dict[tuple[Any, Budget], list[Outcome]] = {}
        surrogate = fit_surrogate(case.model, case.domain, case.rows)
        if surrogate is None:
            raise SystemExit(f"No surrogate tree of {case.name}.")
        self._surrogate: Surrogate = surrogate
        self._plausibility = Plausibility.learn(case.rows, case.domain, np.random.default_rng(0))

    def make(self, name: str, **settings: Any) -> Any:
        """See ``prepared``."""
        return self.prepared(self.case, name, **settings)

    @staticmethod
    def prepared(case: Case, name: str, **settings: Any) -> Any:
        """A technique, after a short run of it: compiling and importing are not what is measured."""
        technique = TECHNIQUES[name](**settings)
        requirements.check(case.model, case.domain, case.rows, technique)
        technique.warm_up()
        for _ in run_search(technique, case.model, case.domain, case.rows, Budget(20_000), _WARM_SEED):
            pass
        return technique

    def runs(self, technique: Any, budget: Budget) -> list[Outcome]:
        """The search with every seed; what was measured once is not run again."""
        key = (technique, budget)
        if key not in self._done:
            self._done[key] = [self._run(technique, budget, seed) for seed in range(self.n_seeds)]
        return self._done[key]

    def _run(self, technique: Any, budget: Budget, seed: int) -> Outcome:
        case = self.case
        batches = []
        started = time.perf_counter()
        for event in run_search(technique, case.model, case.domain, case.rows, budget, seed):
            if isinstance(event, PairsFound):
                batches.append(event.pairs)
        seconds = time.perf_counter() - started
        if not isinstance(event, Stopped):
            raise TypeError(event)
        pairs = Pairs.concatenate(batches, case.domain.n_columns)
        self.n_runs = self.n_runs + 1
        self.n_pairs = self.n_pairs + len(pairs)
        self.n_wrong += case.n_wrong(pairs) + abs(len(pairs) - event.n_found)
        is_cut = event.reason is StopReason.SECONDS
        described = self._describe(pairs) if len(pairs) else (None, None)
        return Outcome(event.evaluations, seconds, event.n_tried, event.n_found, is_cut, *described)

    def _describe(self, pairs: Pairs) -> tuple[float | None, float]:
        """Leaves that 1,000 finds lie in, and the share of pairs of two plausible people."""
        _, counts = np.unique(self._surrogate.leaves(pairs.first), return_counts=True)
        drawn = np.random.default_rng(0).permutation(len(pairs))[:N_PLAUSIBLE]
        both = (self._plausibility.are_plausible(people[drawn]) for people in (pairs.first, pairs.second))
        return expected_leaves(counts, 1000), float(np.logical_and(*both).mean())

    def confirmation(self) -> str:
        """The sentence about the independent evaluation."""
        return (
            f"{self.case.title}: {self.n_pairs:,} pairs of {self.n_runs:,} runs judged again by an evaluation of its "
            f"own: **{self.n_wrong:,} wrong**. The bare model decides {self.bare:,.0f} rows/s in one large batch."
        )


def spread(values: Sequence[float | None], form: str, runs: Sequence[Outcome] = ()) -> str:
    """Median and range; marked when a run was cut by the limit of seconds."""
    there = [value for value in values if value is not None]
    if not there:
        return "–"
    mark = " †" if any(run.is_cut for run in runs) else ""
    median, low, high = (form.format(value) for value in (statistics.median(there), min(there), max(there)))
    return f"{median}{mark}" if low == high else f"{median}{mark} ({low}–{high})"
