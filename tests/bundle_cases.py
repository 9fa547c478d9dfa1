"""A review with a run of every kind on the census sample, for tests of bundles: made once for all test processes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import retrained_runs
import run_cases
from fairness_engine.oracle.budget import Budget
from fairness_engine.oracle.domain import Scope
from fairness_engine.report.bundle.writing import write_bundle
from fairness_engine.runs import queue
from fairness_engine.store.records import Review
from fairness_engine.store.store import RunStore
from made_once import made_once

KINDS = ("search", "scan", "estimate", "count", "certify", "rules", "labels", "retrain")
"""Runs by what they are here: ``scan`` begins at rows of the data, ``labels`` has no model."""
SAMPLE_DATA = Path(__file__).resolve().parent.parent / "sample_data" / "census_income.csv"
MODEL = "census_income_tree"
FEW = {"age": (30.0, 33.0), "hours_per_week": (38.0, 41.0), "capital_gain_thousands": (0.0, 1.0)}
"""Limits that leave so few individuals that they are counted in a moment."""
EXTRA = {"report.html": b"<!doctype html><title>Report</title>", "tables/a table.csv": b"a,b\n1,2\n"}


@dataclass(frozen=True)
class Bundled:
    """A review, and the id of its run of each of ``KINDS``."""

    review: Review
    runs: dict[str, str]


def _make_bundled(store: RunStore) -> Bundled:
    review = run_cases.review_of(store, model=MODEL, scope=Scope(("sex",)))
    other: dict[str, Any] = {"technique": "", "budget": Budget(None, 30.0)}
    asked: dict[str, dict[str, Any]] = {
        "search": {"technique": "directed", "budget": Budget(1_500)},
        "scan": {"technique": "data-scan", "budget": Budget(4_000), "max_starts": 120},
        "estimate": {**other, "kind": "estimate", "n_samples": 400},
        "count": {**other, "kind": "count", "scope": Scope(("sex",), limits=FEW)},
        "certify": {**other, "kind": "certify", "settings": {"max_boxes": 300, "n_samples": 500}},
        "rules": {**other, "kind": "rules", "settings": {"least_samples": 200}},
        "labels": {**other, "kind": "rules", "settings": {"source": "labels"}},
    }
    runs = {name: run_cases.run_of(store, review, **changes).id for name, changes in asked.items()}
    settings = {"max_rounds": 1, "max_epochs": 2, "n_draws": 500, "measure_seconds": 0.0}
    run_id = store.create_run(retrained_runs.config_of(review, "variants", **settings), review.id)
    queue.run_in_foreground(store, run_id, lambda _: None)
    runs["retrain"] = run_id
    states = {name: (store.run(each).state.value, store.run(each).message) for name, each in runs.items()}
    assert set(states.values()) == {("finished", None)}, states
    return Bundled(review, runs)


def bundled_runs(workspace: Path) -> Bundled:
    """Fill an empty workspace with a run of every kind."""
    return made_once(_make_bundled, workspace)


def write(workspace: Path, folder: Path, *kinds: str, with_rows: bool = True) -> Bundled:
    """Fill an empty workspace and write a bundle of some of its runs, of all by default."""
    made = bundled_runs(workspace)
    store = RunStore(workspace)
    runs = [store.run(made.runs[kind]) for kind in kinds or KINDS]
    write_bundle(store, made.review, runs, folder, with_rows=with_rows, extra=EXTRA)
    store.close()
    return made


def read(folder: Path, name: str) -> Any:
    """A JSON file of a bundle."""
    return json.loads((folder / name).read_text(encoding="utf-8"))
