"""A retraining at work without a worker, for tests of what the page shows of one."""

from __future__ import annotations

import os
from typing import Any

from fairness_engine.events import Progress
from fairness_engine.runs import kinds
from fairness_engine.store.alive import host_name, process_start_time
from fairness_engine.store.records import Review
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore

REFERENCE = {"accuracy": 0.94, "uniform": 0.3, "data": 0.25, "tolerance": 0.02}


def round_of(accuracy: float, data: float, **changes: Any) -> dict[str, Any]:
    """One round as a retraining tells it."""
    same: dict[str, Any] = {
        "title": "4,000 people added",
        "n_added": 4_000,
        "facts": {},
        "uniform": data,
        "objective": 1,
    }
    flags = {"is_within": accuracy >= 0.92, "is_best": False, "is_vetoed": False, "is_control": False}
    return {**same, **flags, "accuracy": accuracy, "data": data, **changes}


TRAINING = {
    "reference": REFERENCE,
    "rounds": [
        round_of(0.935, 0.2),
        round_of(0.925, 0.1, is_best=True, uniform=0.12),
        round_of(0.9, 0.01),
        round_of(0.93, 0.02, is_vetoed=True),
        round_of(0.938, 0.24, is_control=True, n_added=0, title="Control"),
    ],
    "epochs": [[1, 1, 0.5, 0.4, 0.9], [1, 2, 0.4, 0.35, 0.92], [2, 1, 0.3, None, None]],
}


def retrain_config(review: Review, **changes: Any) -> RunConfig:
    """A retraining of a review."""
    assert review.data_id is not None
    assert review.model_id is not None
    assert review.schema is not None
    assert review.scope is not None
    settings = {"tolerance": 0.02, **changes.pop("settings", {})}
    same = (review.data_id, review.model_id, review.schema, review.scope)
    return kinds.RETRAIN.config(*same, settings=settings, **changes)


def run_at_work(store: RunStore, review: Review, training: dict[str, Any] | None = None, **changes: Any) -> str:
    """A retraining that this process claims to work on, with what it has told so far."""
    run_id = store.create_run(retrain_config(review, **changes), review.id)
    assert store.claim(run_id, host_name(), os.getpid(), str(process_start_time(os.getpid())))
    if training is not None:
        store.set_result(run_id, "training", training)
        n_rounds = len(training["rounds"])
        n_within = sum(one["is_within"] for one in training["rounds"])
        store.add_progress(run_id, Progress(1_000, 12.0, n_rounds, n_within, "round 6: training on 24,257 rows"))
    return run_id
