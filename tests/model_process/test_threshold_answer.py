"""The question for other decision thresholds: its counts are those of the model opened anew at each, for every sample
model and for awkward ones; what is refused; in this process and in the model's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fairness_engine.data.catalogue import Sample, SampleModel, find_sample, list_samples
from fairness_engine.data.dataset import Dataset, IncompleteRows, make_dataset
from fairness_engine.data.schema import Schema
from fairness_engine.data.table import read_table
from fairness_engine.errors import FitError, ProcessError, SettingError
from fairness_engine.groups.figures.report import FigureSettings, GroupTable, report_from_json
from fairness_engine.groups.figures.thresholds import ThresholdCounts, ThresholdSettings, counts_from_json
from fairness_engine.model_process.pool import Evaluator
from fairness_engine.model_process.questions import CountThresholds, GroupFigures, Held
from fairness_engine.model_process.session import ModelSession, open_all
from fairness_engine.model_process.working import group_figures
from fairness_engine.models.model import Model, Output, no_model
from fairness_engine.oracle.domain import Scope
from fairness_engine.store.store import RunStore
from handmade import function_model
from worker_cases import census_config

pytestmark = pytest.mark.thorough

CASES = [(sample.name, model.name) for sample in list_samples() if sample.protected for model in sample.models]


def opened(sample: Sample, model: SampleModel, scope: Scope, **changes: Any) -> ModelSession:
    request = {
        "data": {"path": str(sample.data), "name": sample.data.name},
        "model": {"path": str(model.path), "name": model.path.name},
        "schema": replace(sample.schema_for(model), **changes).to_json(),
        "scope": scope.to_json(),
        "needs_variants": False,
    }
    session = open_all(request)
    assert isinstance(session, ModelSession)
    return session


def counted(session: ModelSession, attribute: str) -> ThresholdCounts:
    settings = ThresholdSettings(attribute)
    assert session.scope is not None
    content = session.thresholds(settings.to_json())["thresholds"]
    return counts_from_json(content, settings, session.dataset.schema, session.scope.threshold)


def table_of(session: ModelSession, attribute: str) -> GroupTable:
    settings = FigureSettings(((attribute,),))
    return report_from_json(session.group_figures(settings.to_json())["figures"], settings).tables[0]


def assert_decided_alike(open_at: Callable[[float | None], ModelSession], attribute: str, seed: int = 0) -> None:
    """The model opened anew at random thresholds, and at both ends, decides what the counts say."""
    present = open_at(None)
    counts = counted(present, attribute)
    rng = np.random.default_rng(seed)
    n = len(counts.thresholds)
    positions = {0, n - 1, counts.present, *rng.integers(n, size=3).tolist()}
    for position in sorted(positions):
        anew = open_at(float(counts.thresholds[position]))
        table = table_of(anew, attribute)
        assert counts.table(position).groups == table.groups, f"at {counts.thresholds[position]}"
        favourable = anew.favourable
        actual = anew.dataset.labels == anew.dataset.favourable_class
        cost = counts.cost(position)
        assert cost.accuracy == pytest.approx((favourable == actual).mean())
        before = present.favourable
        assert (cost.n_gained, cost.n_lost) == ((favourable & ~before).sum(), (before & ~favourable).sum())


@pytest.mark.parametrize(("sample", "model"), CASES)
def test_every_sample_model_decides_at_each_threshold_what_is_counted(sample: str, model: str) -> None:
    known = find_sample(sample)
    attribute = known.protected[0]

    def open_at(threshold: float | None) -> ModelSession:
        return opened(known, known.model(model), Scope((attribute,), threshold=threshold))

    assert_decided_alike(open_at, attribute)


@pytest.mark.parametrize(
    ("sample", "model", "favourable"),
    [("census_income", "census_income_network", "<=50K"), ("census_income", "census_income_tree", "<=50K")],
)
def test_the_first_class_may_be_the_favourable_one(sample: str, model: str, favourable: str) -> None:
    """Then a higher threshold favours more."""
    known = find_sample(sample)

    def open_at(threshold: float | None) -> ModelSession:
        return opened(known, known.model(model), Scope(("sex",), threshold=threshold), favourable=favourable)

    assert open_at(None).model.favourable == 0
    assert_decided_alike(open_at, "sex")
    shares = counted(open_at(None), "sex").shares
    assert (np.diff(shares, axis=0) >= 0).all()
    assert shares[-1].tolist() == [1.0, 1.0]


def test_the_threshold_in_force_is_the_present_one() -> None:
    known = find_sample("census_income")
    model = known.model("census_income_network")
    counts = counted(opened(known, model, Scope(("sex",), threshold=0.37)), "sex")
    assert counts.thresholds[[counts.present, counts.own]].tolist() == [0.37, 0.5]


# --- awkward models -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def census() -> Dataset:
    sample = find_sample("census_income")
    return make_dataset(read_table(sample.data), Schema.read(sample.schema))


def session_of(census: Dataset, model: Model, threshold: float | None = None, **changes: Any) -> ModelSession:
    at = model.predictor.output.middle if threshold is None else threshold
    return ModelSession(census, replace(model, threshold=at, **changes), Scope(("sex",), threshold=threshold))


@pytest.mark.parametrize("favourable", [0, 1])
@pytest.mark.parametrize(
    "score",
    [
        lambda rows: np.full(len(rows), 0.25),
        lambda rows: np.full(len(rows), 0.5),
        lambda rows: np.zeros(len(rows)),
        lambda rows: np.ones(len(rows)),
        lambda rows: (rows[:, 0] % 3) / 2,  # 0, 1/2 and 1: a third of the rows lies on the threshold
        lambda rows: 0.1 * (rows[:, 0] % 7) + 0.1 * (rows[:, 3] % 3),  # sums that differ by rounding
        lambda rows: rows[:, 0] - 40.0,  # no probability
    ],
)
def test_constant_scores_and_ties(census: Dataset, score: Callable[[Any], Any], favourable: int) -> None:
    model = function_model(score)
    assert_decided_alike(lambda threshold: session_of(census, model, threshold, favourable=favourable), "sex", 1)


def test_a_model_without_a_threshold_is_refused(census: Dataset) -> None:
    three = function_model(lambda rows: np.eye(3)[(rows[:, 0] % 3).astype(int)], n_scores=3)
    with pytest.raises(SettingError, match="two classes that gives a score, got one of 3 classes"):
        session_of(census, three).thresholds(ThresholdSettings("sex").to_json())
    labels = function_model(lambda rows: rows[:, 0] % 2)
    labels.predictor.output = Output.LABEL  # type: ignore[misc]
    with pytest.raises(SettingError, match="got one of decisions without a score"):
        session_of(census, labels).thresholds(ThresholdSettings("sex").to_json())
    nobody = ModelSession(census, no_model(census.classes, 1), Scope(("sex",)))
    with pytest.raises(SettingError, match="needs a model with a score, got none"):
        nobody.thresholds(ThresholdSettings("sex").to_json())


def test_a_model_that_is_slow_or_gives_no_number_is_said_so(census: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = function_model(lambda rows: np.where(rows[:, 0] > 40, np.nan, 0.5))
    with pytest.raises(FitError, match="gives no number"):
        session_of(census, broken).thresholds(ThresholdSettings("sex").to_json())
    monkeypatch.setattr(group_figures, "_DECIDE_SECONDS", -1.0)
    with pytest.raises(SettingError, match=r"within -1 seconds, got 0\. Use less data"):
        session_of(census, function_model(lambda rows: rows[:, 0])).thresholds(ThresholdSettings("sex").to_json())


# --- rows with missing cells --------------------------------------------------------------------


def test_rows_that_miss_a_cell_count_where_the_model_takes_them(census: Dataset) -> None:
    """As group figures count them: in no group of an attribute that they miss."""
    rows = census.rows[:60].copy()
    rows[:20, census.schema.index("sex")] = np.nan
    rows[20:40, census.schema.index("age")] = np.nan
    rows[40:, census.schema.index("hours_per_week")] = np.nan
    assert census.labels is not None
    dataset = replace(census, incomplete=IncompleteRows(rows, census.labels[:60], np.arange(60), None))
    age = dataset.schema.index("age")
    model = function_model(lambda rows: rows[:, age] / 100)  # rows without an age are not answered
    session = session_of(dataset, replace(model, incomplete=model.predictor), 0.4)
    counts = counted(session, "sex")
    assert counts.n_rows == len(census.rows) + 40
    assert (counts.n[-1].sum(), counts.n_incomplete) == (20, 40)
    assert counts.table(counts.present).groups == table_of(session, "sex").groups


# --- through the model's process ----------------------------------------------------------------


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return RunStore(tmp_path_factory.mktemp("workspace"))


@pytest.fixture
def evaluator(store: RunStore) -> Iterator[Evaluator]:
    evaluator = Evaluator(store)
    yield evaluator
    evaluator.close()


def test_one_question_answers_for_every_threshold(store: RunStore, evaluator: Evaluator) -> None:
    config = census_config(store)
    held = Held(config.data_id, config.model_id, config.schema, config.scope)
    counts = evaluator.ask(held, CountThresholds(ThresholdSettings("sex")))
    position = len(counts.thresholds) // 3
    moved = replace(held, scope=replace(config.scope, threshold=float(counts.thresholds[position])))
    report = evaluator.ask(moved, GroupFigures(FigureSettings((("sex",),))))
    assert report.tables[0].groups == counts.table(position).groups
    again = evaluator.ask(moved, CountThresholds(ThresholdSettings("sex")))
    assert again.thresholds[again.present] == counts.thresholds[position]
    assert again.cost(again.nearest(0.5)).n_gained == counts.cost(position).n_lost


def test_an_answer_that_is_none_is_refused(store: RunStore) -> None:
    config = census_config(store)
    held = Held(config.data_id, config.model_id, config.schema, config.scope)
    for reply in ({}, {"thresholds": 3}, {"thresholds": {"attribute": "sex"}}):
        with pytest.raises(ProcessError, match="it sent no counts by threshold"):
            CountThresholds(ThresholdSettings("sex")).answer(reply, held)
