"""Two reviews of one data set, with real runs of both models: made once, copied into each test's workspace."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fairness_engine.findings.finding import Evidence
from fairness_engine.store.records import Review
from fairness_engine.store.store import RunStore
from findings_cases import assess, review_of
from made_once import made_once

LOOKED_AT = (Evidence.SCAN, Evidence.SHARE, Evidence.RULES, Evidence.PROOF, Evidence.FIGURES)
NAMES = ("recidivism_planted", "recidivism_mlp")


def _review(store: RunStore, name: str) -> Review:
    """With what a fit card says of the columns that tell people apart."""
    review = review_of(store, name)
    return assess(store, store.save_review(replace(review, fit={**(review.fit or {}), "not_taken": []})), LOOKED_AT)


def _make_both(store: RunStore) -> tuple[Review, Review]:
    first, second = (_review(store, name) for name in NAMES)
    return first, second


def both_assessed(workspace: Path) -> tuple[RunStore, Review, Review]:
    """A workspace with two candidates, both looked at."""
    first, second = made_once(_make_both, workspace)
    return RunStore(workspace), first, second
