"""Whole assessments of samples, made by the real workers: once for all tests, copied into each test's workspace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from fairness_engine.data.catalogue import SampleModel, list_samples
from fairness_engine.data.recorded import Source
from fairness_engine.findings.assessment import Limits, assessment_runs
from fairness_engine.findings.finding import Evidence
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs import queue
from fairness_engine.store.records import FileRole, Review
from fairness_engine.store.store import RunStore
from made_once import made_once

SAMPLES = {model.path.stem: (sample, model) for sample in list_samples() for model in sample.models}
LIMITS = Limits(max_evaluations=50_000, max_seconds=600.0, proof_seconds=600.0, max_boxes=20_000)
"""No clock ends a run: the same everywhere."""


def review_of(store: RunStore, name: str, protected: tuple[str, ...] | None = None) -> Review:
    """A review of a sample's model, named by its file, with data, model and scope."""
    sample, model = SAMPLES[name]
    column = sample.text_column
    scope = Scope(protected or (model.protected if column is None else (column,)))
    review = store.create_review(model.title)
    return store.save_review(
        replace(
            review,
            data_id=store.add_file(sample.data, sample.data.name, FileRole.DATA).id,
            model_id=store.add_file(model.path, model.path.name, FileRole.MODEL).id,
            schema=sample.schema_for(model),
            scope=scope,
            fit=_fit(model)
            if column is None
            else {"text_column": column, "classes": list(model.classes), "favourable": 1},
        )
    )


def _fit(model: SampleModel) -> dict[str, object]:
    """What pages ask of a fit card."""
    return {
        "classes": list(model.classes),
        "favourable": model.classes.index("low") if "low" in model.classes else 1,
        "rows_per_second": 100_000.0,
        "uses_protected": dict.fromkeys(model.protected, True),
        "output": {"kind": "probability"},
    }


def without_model(store: RunStore, name: str = "census_income_planted") -> Review:
    """A review of the labels alone."""
    review = review_of(store, name)
    return store.save_review(replace(review, model_id=None, fit={"source": "labels"}))


def assess(store: RunStore, review: Review, wanted: Sequence[Evidence] = tuple(Evidence), seed: int = 0) -> Review:
    """Make the runs of a whole assessment, or of some of it."""
    labels = None if review.model_id else (Source.LABELS, "")
    for config in assessment_runs(review, wanted, seed, LIMITS, labels):
        queue.run_in_foreground(store, store.create_run(config, review.id), lambda _: None)
    return store.review(review.id)


def _assessed(store: RunStore, name: str) -> Review:
    return assess(store, review_of(store, name))


_MAKERS = {}


def _maker(name: str) -> object:
    made = _MAKERS.setdefault(name, partial(_assessed, name=name))
    made.__module__ = __name__  # type: ignore[attr-defined]  # a name by which every test process knows it
    made.__qualname__ = f"assessed_{name}"  # type: ignore[attr-defined]
    return made


def assessed(workspace: Path, name: str) -> tuple[RunStore, Review]:
    """A workspace with a whole assessment of a sample's model."""
    review = made_once(_maker(name), workspace)  # type: ignore[arg-type]
    return RunStore(workspace), review
