"""Reviews and real runs for page tests: a sample, one of its models, the real worker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fairness_engine.data.catalogue import find_sample
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import kinds, queue
from fairness_engine.store.people.roles import LOCAL_OWNER
from fairness_engine.store.records import FileRole, Review, RunRecord
from fairness_engine.store.run_config import RunConfig
from fairness_engine.store.store import RunStore
from made_once import made_once


def review_of(
    store: RunStore, model: str = "census_income_planted", owner: str = LOCAL_OWNER, **changes: Any
) -> Review:
    """A review with data, model, scope and fit card."""
    sample = next(sample for sample in map(find_sample, ("census_income", "credit")) if model.startswith(sample.name))
    chosen = sample.model(model)
    schema = sample.schema_for(chosen)
    fit = {
        "classes": list(chosen.classes),
        "favourable": 1,
        "rows_per_second": 100_000.0,
        "uses_protected": dict.fromkeys(chosen.protected, True),
        "output": {"kind": "probability"},
    }
    values: dict[str, Any] = {
        "data_id": store.add_file(sample.data, sample.data.name, FileRole.DATA).id,
        "model_id": store.add_file(chosen.path, chosen.path.name, FileRole.MODEL).id,
        "schema": schema,
        "scope": Scope(chosen.protected),
        "fit": fit,
    }
    return store.save_review(replace(store.create_review("Census, spring", owner), **(values | changes)))


def config_of(review: Review, technique: str = "aequitas", **changes: Any) -> RunConfig:
    """A search of a review, small enough for a test."""
    assert review.data_id is not None
    assert review.model_id is not None
    assert review.schema is not None
    assert review.scope is not None
    same = {"data_id": review.data_id, "model_id": review.model_id, "schema": review.schema, "scope": review.scope}
    values: dict[str, Any] = {"kind": kinds.SEARCH.name, "technique": technique, "budget": Budget(20_000), **same}
    values |= changes
    return kinds.KINDS[values.pop("kind")].config(**values)


def run_of(store: RunStore, review: Review, technique: str = "aequitas", **changes: Any) -> RunRecord:
    """A run that has ended, made by the real worker."""
    run_id = store.create_run(config_of(review, technique, **changes), review.id)
    return queue.run_in_foreground(store, run_id, lambda _: None)


def estimate_of(store: RunStore, review: Review, **changes: Any) -> RunRecord:
    """An estimate that has ended."""
    settings = {"kind": kinds.ESTIMATE.name, "technique": "", "n_samples": 2000, "budget": Budget(100_000)}
    return run_of(store, review, **(settings | changes))


@dataclass(frozen=True)
class Finished:
    """Runs that ended, made once for all tests and copied into each test's workspace."""

    review: Review
    searches: list[RunRecord]
    estimate: RunRecord
    without_pairs: RunRecord


def _make_finished(store: RunStore) -> Finished:
    """A comparison of three searches and an estimate, and a second review with a search without pairs."""
    review = review_of(store)
    searches = [run_of(store, review, name, comparison="one") for name in ("random", "data-scan", "aequitas")]
    estimate = estimate_of(store, review)
    without_pairs = run_of(store, review_of(store, model="census_income_ignores_protected"), "random")
    return Finished(review, searches, estimate, without_pairs)


def finished_runs(workspace: Path) -> Finished:
    """Fill an empty workspace with runs that ended."""
    return made_once(_make_finished, workspace)
