"""A run of proxies as the model's process works it: whose decisions, on which rows, with and without missing cells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import handmade
from fairness_engine.arrays import FloatArray
from fairness_engine.clock import Clock
from fairness_engine.codec import decode
from fairness_engine.data.dataset import Dataset, IncompleteRows
from fairness_engine.data.links.link import Link
from fairness_engine.errors import SettingError, StopReason
from fairness_engine.events import Event, Progress, ResultReady, Stopped
from fairness_engine.measures.proxies import holding, learners
from fairness_engine.measures.proxies.results import Proxies
from fairness_engine.model_process.session import ModelSession
from fairness_engine.model_process.working import proxies as module
from fairness_engine.models.model import Model, no_model
from fairness_engine.oracle.domain import Scope
from fairness_engine.runs.kinds import PROXIES
from proxy_cases import SCHEMA, planted

QUICK = {"max_iter": 15, "max_leaf_nodes": 8, "early_stopping": False}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer folds and fewer trees than the product's."""
    monkeypatch.setattr(holding, "N_FOLDS", 2)
    monkeypatch.setattr(holding, "N_SPLITS", 2)
    monkeypatch.setattr(learners, "_OF_FEW_ROWS", QUICK)


def hours_over_40(rows: FloatArray) -> FloatArray:
    return np.where(rows[:, SCHEMA.index("hours")] > 40, 0.9, 0.2)


def opened(n: int = 400, seed: int = 1, model: Model | None = None, takes_missing: bool = False) -> ModelSession:
    """A planted table and a model of it, or none; rows that miss a cell stand beside the others."""
    table = planted(n, seed)
    misses = np.isnan(table.rows).any(axis=1)
    at = np.flatnonzero(misses)
    labels = table.favourable.astype(np.int64)
    data = Dataset(
        schema=SCHEMA,
        rows=table.rows[~misses],
        labels=labels[~misses],
        classes=("no", "yes"),
        kept=np.flatnonzero(~misses),
        n_dropped=len(at),
        problems=(),
        source_hash="",
        favourable_class=1,
        incomplete=IncompleteRows(table.rows[misses], labels[misses], at),
    )
    if model is not None and takes_missing:
        model = replace(model, incomplete=model.predictor)
    return ModelSession(data, no_model(data.classes, 1) if model is None else model, Scope(("sex",)))


def run(
    session: ModelSession, scope: Scope | None = None, clock: Clock | None = None, **settings: Any
) -> tuple[Proxies | None, Stopped, list[Event]]:
    """A run's result, its end, and what was reported on the way."""
    scope = scope or Scope(("sex",))
    is_there = session.model.predictor.kind != "no model"
    settings = {"source": "model" if is_there else "labels", **settings}
    config = PROXIES.config("data", "model", SCHEMA, scope, settings=settings, seed=2)
    reports: list[Event] = []
    told = list(module.proxies_events(session, config, clock or Clock(), reports.append))
    results = [decode(Proxies, event.content) for event in told if isinstance(event, ResultReady)]
    assert isinstance(told[-1], Stopped)
    counts = [(e.evaluations, e.n_tried, e.n_found) for e in (*told, *reports) if isinstance(e, Progress)]
    assert all(count[2] <= count[1] for count in counts)
    return (results[0] if results else None), told[-1], reports


def test_a_model_decides_and_is_explained() -> None:
    session = opened(model=handmade.function_model(hours_over_40))
    found, stopped, reports = run(session, n_explained=12)
    assert found is not None
    assert found.n_rows == len(session.dataset.rows) < 400
    assert found.shap is not None
    assert found.shap.n_people == 12
    assert found.shap.shares["hours"] == pytest.approx(1)
    (difference,) = found.attributes[0].differences
    decided = hours_over_40(session.dataset.rows) > 0.5
    is_woman = session.dataset.rows[:, 0] == 0
    assert difference.raw.value == pytest.approx(decided[is_woman].mean() - decided[~is_woman].mean())
    assert difference.held is not None
    assert difference.held.value == 0
    asked = session.model.predictor.n_rows_asked
    assert stopped.evaluations == asked
    assert [event.evaluations for event in reports if isinstance(event, Progress)][-1] == asked


def test_rows_that_miss_a_cell_count_where_they_have_a_decision() -> None:
    model = handmade.function_model(hours_over_40)
    by_model = run(opened(model=model), n_explained=0)[0]
    with_missing = run(opened(model=model, takes_missing=True), n_explained=0)[0]
    by_label = run(opened())[0]
    assert by_model is not None
    assert with_missing is not None
    assert by_label is not None
    assert (by_model.n_incomplete, by_model.why_no_shap) == (0, "Nobody was to be explained.")
    assert with_missing.n_rows == by_label.n_rows == 400
    assert with_missing.n_incomplete == by_label.n_incomplete == 400 - by_model.n_rows
    assert "no model" in by_label.why_no_shap


def test_rows_are_drawn_by_the_seed_and_thinned_out_in_wide_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(model=handmade.function_model(hours_over_40))
    found = run(session, n_rows=200, n_explained=0)[0]
    assert found is not None
    assert found.n_rows == 200
    assert run(session, n_rows=200, n_explained=0)[0] == found
    monkeypatch.setattr(module, "_MAX_CELLS", 9 * 150)
    found = run(session, n_rows=200, n_explained=0)[0]
    assert found is not None
    assert found.n_rows == 150


def test_a_model_is_asked_of_people_whose_linked_columns_change_along() -> None:
    """It decides by *job* alone, which goes with sex: what is left is what the link makes of it."""
    job = SCHEMA.index("job")
    model = handmade.function_model(lambda rows: np.where(rows[:, job] == 0, 0.9, 0.1))
    session = opened(model=model)
    link = Link("sex", "job", ("F", "M"), (("job 00", "job 01"),))
    alone = run(session, n_explained=0)[0]
    linked = run(session, Scope(("sex",), links=(link,)), n_explained=0)[0]
    assert alone is not None
    assert linked is not None
    assert alone.attributes[0].differences[0].held is not None
    assert alone.attributes[0].differences[0].held.value == 0
    # half of all people have job 00 or 01: a woman with the one would, as a man, have the other
    assert linked.attributes[0].differences[0].held is not None
    assert abs(linked.attributes[0].differences[0].held.value) < 0.15
    assert [one.column for one in linked.attributes[0].columns if one.is_linked] == ["job"]


def test_a_cancel_before_the_rows_are_decided_leaves_nothing() -> None:
    session = opened(model=handmade.function_model(hours_over_40))
    found, stopped, _ = run(session, clock=Clock(is_cancelled=lambda: True))
    assert found is None
    assert (stopped.reason, stopped.n_tried) == (StopReason.CANCELLED, 0)


def test_no_row_in_the_scope_is_said() -> None:
    with pytest.raises(SettingError, match="need a row of the data that lies in the ranges of the scope"):
        run(opened(), Scope(("sex",), limits={"points": (299, 300)}))
