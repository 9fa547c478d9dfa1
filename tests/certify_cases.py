"""Real certifications for tests of pages: small ones, made once and copied into each test's workspace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import run_cases
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds, queue
from fairness_engine.store.records import Review, RunRecord
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from made_once import made_once

MODEL = "census_income_planted"
MAX_SECONDS = 300.0
"""The first run of a version compiles its loops, which a busy machine takes long for; boxes end it much sooner."""


def config_of(review: Review, max_boxes: int = 3000, **settings: Any) -> RunConfig:
    """A certification of a review, small enough for a test."""
    values = {"max_boxes": max_boxes, "n_samples": 2000, **settings}
    return run_cases.config_of(
        review, "", kind=kinds.CERTIFY.name, settings=values, budget=Budget(None, MAX_SECONDS), seed=0
    )


def run_of(store: RunStore, review: Review, max_boxes: int = 3000, **settings: Any) -> RunRecord:
    """A certification that has ended, made by the real worker."""
    run_id = store.create_run(config_of(review, max_boxes, **settings), review.id)
    return queue.run_in_foreground(store, run_id, lambda _: None)


@dataclass(frozen=True)
class Certified:
    """Certifications that ended.

    Args:
        review: of a network with a planted rule, sex protected.
        counting, classic: two certifications of it.
        blind: of another review, whose model makes nothing of the protected attributes.
        refused: of another review, whose model cannot be certified.
    """

    review: Review
    counting: RunRecord
    classic: RunRecord
    blind: RunRecord
    refused: RunRecord


def _make_certified(store: RunStore) -> Certified:
    review = run_cases.review_of(store, model=MODEL, scope=Scope(("sex",)))
    counting = run_of(store, review)
    classic = run_of(store, review, mode="classic", max_depth=8)
    blind = run_of(store, run_cases.review_of(store, model="census_income_ignores_protected"))
    refused = run_of(store, run_cases.review_of(store, model="census_income_svm"))
    return Certified(review, counting, classic, blind, refused)


def certified_runs(workspace: Path) -> Certified:
    """Fill an empty workspace with certifications that ended."""
    return made_once(_make_certified, workspace)
