"""Real runs of rule sets for tests of pages: made once and copied into each test's workspace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairness_engine.data.catalogue import find_sample
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds, queue
from fairness_engine.store.records import FileRole, Review, RunRecord
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from made_once import made_once

MODEL = "marketing_planted"
PLANTED = "Men aged 40 to 59 born in Africa or Asia"
"""The group that the planted rule harms, as the page says it."""
PROTECTED = ("age", "sex", "born_in")
_SECONDS = 300.0


def review_of(store: RunStore, model: str = MODEL, **changes: Any) -> Review:
    """A review of a model of marketing, the planted rule unless another is named, with data, scope and the facts of a
    fit card that pages ask for.
    """
    sample = find_sample("marketing")
    chosen = sample.model(model)
    fit = {
        "classes": list(chosen.classes),
        "favourable": 1,
        "n_rows": 4000,
        "rows_per_second": 100_000.0,
        "uses_protected": dict.fromkeys(chosen.protected, True),
        "output": {"kind": "probability"},
    }
    values: dict[str, Any] = {
        "data_id": store.add_file(sample.data, sample.data.name, FileRole.DATA).id,
        "model_id": store.add_file(chosen.path, chosen.path.name, FileRole.MODEL).id,
        "schema": sample.schema_for(chosen),
        "scope": Scope(PROTECTED),
        "fit": fit,
    }
    return store.save_review(replace(store.create_review("Marketing, spring"), **(values | changes)))


def config_of(review: Review, **settings: Any) -> RunConfig:
    """A run of rule sets of a review."""
    assert review.data_id is not None
    assert review.schema is not None
    assert review.scope is not None
    return kinds.RULES.config(
        review.data_id,
        review.model_id or "",
        review.schema,
        review.scope,
        settings={"edges": "round", **settings},
        budget=Budget(None, _SECONDS),
    )


def run_of(store: RunStore, review: Review, **settings: Any) -> RunRecord:
    """A run that has ended, made by the real worker."""
    run_id = store.create_run(config_of(review, **settings), review.id)
    return queue.run_in_foreground(store, run_id, lambda _: None)


@dataclass(frozen=True)
class Grouped:
    """Runs of rule sets that ended, all of one review.

    Args:
        review: with a planted group.
        exact: of every neighbour.
        sampled: of large groups, by few samples, so that intervals are wide.
        labels: of the label column, without a model.
    """

    review: Review
    exact: RunRecord
    sampled: RunRecord
    labels: RunRecord


def _make_grouped(store: RunStore) -> Grouped:
    review = review_of(store)
    labels = run_of(store, review, source="labels")
    sampled = run_of(store, review, support=0.3, error=0.2, least_samples=100)
    exact = run_of(store, review)
    return Grouped(review, exact, sampled, labels)


def grouped_runs(workspace: Path) -> Grouped:
    """Fill an empty workspace with runs of rule sets that ended; the newest is the exact one."""
    return made_once(_make_grouped, workspace)
