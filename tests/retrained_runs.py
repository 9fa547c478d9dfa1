"""Real retrainings for tests of pages, with the runs that measure both models: made once and copied into each test's
workspace.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import run_cases
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds, queue
from fairness_engine.store.records import Review, RunRecord
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from made_once import made_once

MODEL = "census_income_tree"
TOLERANCE = 0.1
"""The labels of the sample discriminate themselves, so a mitigation costs accuracy on them."""
_MEASURE_SECONDS = 1.0


@dataclass(frozen=True)
class Retrained:
    """Two strategies side by side on a tree that discriminates by sex.

    Args:
        review: of the tree.
        variants: improves it; both models were searched, certified and scored anew.
        threshold: a baseline, which makes no file.
    """

    review: Review
    variants: RunRecord
    threshold: RunRecord


def config_of(review: Review, strategy: str, **changes: object) -> RunConfig:
    """A retraining, small enough for a test."""
    settings = {
        "strategy": strategy,
        "tolerance": TOLERANCE,
        "n_draws": 2_000,
        "max_rounds": 3,
        "measure_seconds": _MEASURE_SECONDS,
        **changes,
    }
    return run_cases.config_of(
        review, "", kind=kinds.RETRAIN.name, settings=settings, budget=Budget(None, 600.0), seed=3, comparison="both"
    )


def run_of(store: RunStore, review: Review, strategy: str, **changes: object) -> RunRecord:
    """A retraining that has ended, and the runs that follow it."""
    run_id = store.create_run(config_of(review, strategy, **changes), review.id)
    queue.run_in_foreground(store, run_id, lambda _: None)
    measured = store.results(run_id).get("measured") or {}
    for side in ("before", "after"):
        for follower in measured.get(side, {}).values():
            if follower is not None and store.run(follower).is_active:
                queue.run_in_foreground(store, follower, lambda _: None)
    return store.run(run_id)


def _make_retrained(store: RunStore) -> Retrained:
    review = run_cases.review_of(store, model=MODEL, scope=Scope(("sex",)))
    return Retrained(review, run_of(store, review, "variants"), run_of(store, review, "threshold"))


def retrained_runs(workspace: Path) -> Retrained:
    """Fill an empty workspace with retrainings that ended."""
    return made_once(_make_retrained, workspace)
