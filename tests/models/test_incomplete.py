"""Rows with missing cells: models that take them are measured on them, as in their own environment; the others refuse
them.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from fairness_engine.codec import decode
from fairness_engine.data.dataset import Dataset, IncompleteRows, make_dataset
from fairness_engine.data.inference import infer_schema
from fairness_engine.data.recorded import recorded_labels
from fairness_engine.data.table import read_table
from fairness_engine.events import ResultReady, ShareEstimated
from fairness_engine.groups.figures.report import FigureSettings, report_from_json
from fairness_engine.measures.plausibility.plausibility import Plausibility
from fairness_engine.measures.results import Share
from fairness_engine.measures.share import run_estimate
from fairness_engine.model_process.session import ModelSession
from fairness_engine.model_process.working.group_figures import answer
from fairness_engine.models.fit.incomplete import incomplete_scores, is_answered
from fairness_engine.models.fit.known_answers import KnownAnswers
from fairness_engine.models.fit.reading import assess_reading
from fairness_engine.models.fit.reading_state import State
from fairness_engine.models.fit.report import FitCard, assess_fit
from fairness_engine.models.model import Model
from fairness_engine.models.open import open_model
from fairness_engine.oracle.domain import Domain, Scope
from loan_cases import loan_frame, write_messy_csv

pytestmark = pytest.mark.thorough

NUMBERS = ["Alter", "Einkommen", "Score", "Laufzeit (Monate)", "Kreditsumme"]
LABELS = ["Geschlecht", "Staatsangehörigkeit", "PLZ", "Wohneigentum", "Beschäftigung"]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("loans") / "loans.csv"
    write_messy_csv(loan_frame(1_500, seed=5), file, seed=5, missing=3.0)
    return file


@pytest.fixture(scope="module")
def frame(path: Path) -> pd.DataFrame:
    """The file as the author of a model reads it."""
    return pd.read_csv(
        path, sep=";", decimal=",", thousands=".", na_values=["-"], encoding="latin-1", dtype={"PLZ": str}
    )


@pytest.fixture(scope="module")
def dataset(path: Path) -> Dataset:
    table = read_table(path)
    return make_dataset(table, infer_schema(table))


def imputing(final: Any) -> Pipeline:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    labels = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )
    return make_pipeline(ColumnTransformer([("n", numbers, NUMBERS), ("l", labels, LABELS)]), final)


def ordinal(final: Any) -> Pipeline:
    """Missing cells stay missing on their way to the final estimator."""
    return make_pipeline(ColumnTransformer([("n", "passthrough", NUMBERS), ("l", OrdinalEncoder(), LABELS)]), final)


MODELS = {
    "imputing, linear": lambda: imputing(LogisticRegression(max_iter=200)),
    "imputing, forest": lambda: imputing(RandomForestClassifier(20, random_state=0)),
    "boosting takes missing cells itself": lambda: ordinal(HistGradientBoostingClassifier(max_iter=20)),
    "trees that learned where to send them": lambda: ordinal(RandomForestClassifier(20, random_state=0)),
}


def opened_model(estimator: Any, dataset: Dataset, folder: Path) -> Model:
    file = folder / "model.skops"
    skops.io.dump(estimator, file)
    return open_model(file, dataset.schema, classes=dataset.classes, favourable=dataset.favourable_class or 0)


def test_incomplete_rows_are_kept_beside_the_complete_ones(dataset: Dataset, frame: pd.DataFrame) -> None:
    more = dataset.incomplete
    assert more is not None
    has_missing = frame[[*NUMBERS, *LABELS]].isna().any(axis=1).to_numpy()
    assert more.kept.tolist() == np.flatnonzero(has_missing).tolist()
    assert dataset.kept.tolist() == np.flatnonzero(~has_missing).tolist()
    assert np.isnan(more.rows).any(axis=1).all()
    assert not np.isnan(dataset.rows).any()
    by_column = np.isnan(more.rows[:, [dataset.schema.index(name) for name in NUMBERS]])
    assert np.array_equal(by_column, frame[NUMBERS].isna().to_numpy()[has_missing])
    assert more.labels is not None
    assert [dataset.classes[label] for label in more.labels] == frame["bewilligt"][has_missing].tolist()
    assert more.ids is not None
    assert more.ids.tolist() == frame["Antrags-ID"][has_missing].tolist()
    assert dataset.with_incomplete(np.zeros(len(more), dtype=bool)) is dataset


def test_a_row_without_a_label_or_with_a_wrong_cell_is_not_kept() -> None:
    table = read_table(b"x,s,y\n1,a,0\n2,b,1\n?,a,1\n3,?,?\n?,zz,1\n" + b"4,b,0\n5,a,1\n" * 20)
    dataset = make_dataset(table, infer_schema(read_table(b"x,s,y\n1,a,0\n5,b,1\n" + b"4,b,0\n3,a,1\n" * 20)))
    assert dataset.incomplete is not None
    assert dataset.incomplete.kept.tolist() == [2]


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_those_of_the_models_own_environment(
    name: str, dataset: Dataset, frame: pd.DataFrame, tmp_path: Path
) -> None:
    estimator = MODELS[name]().fit(frame[[*NUMBERS, *LABELS]], frame["bewilligt"])
    model = opened_model(estimator, dataset, tmp_path)
    more = dataset.incomplete
    assert more is not None
    scores = incomplete_scores(model, more.rows)
    assert is_answered(scores).all()
    own = estimator.predict_proba(frame[[*NUMBERS, *LABELS]].iloc[more.kept])[:, list(estimator.classes_).index("nein")]
    np.testing.assert_allclose(scores[:, 0], own, atol=1e-9)
    card = assess_fit(model, dataset, np.random.default_rng(0))
    assert (card.n_incomplete, card.n_answered, card.n_rows) == (len(more), len(more), len(frame))
    by_hand = float((estimator.predict(frame[[*NUMBERS, *LABELS]]) == frame["bewilligt"]).mean())
    assert card.accuracy == pytest.approx(by_hand, abs=1e-12)
    assert FitCard.from_json(card.to_json()) == card


def test_known_answers_for_rows_with_missing_cells_are_compared_too(
    dataset: Dataset, frame: pd.DataFrame, tmp_path: Path
) -> None:
    estimator = MODELS["imputing, linear"]().fit(frame[[*NUMBERS, *LABELS]], frame["bewilligt"])
    model = opened_model(estimator, dataset, tmp_path)
    own = estimator.predict_proba(frame[[*NUMBERS, *LABELS]])[:, 1]
    answers = KnownAnswers(np.arange(len(frame)), own, np.full(len(frame), -1), 1e-4)
    reading = assess_reading(model, dataset, 1e6, np.random.default_rng(0), answers)
    assert (reading.state, reading.n_compared) == (State.CONFIRMED, len(frame))
    more = dataset.incomplete
    assert more is not None
    own[more.kept[5:8]] -= 0.01
    otherwise = assess_reading(model, dataset, 1e6, np.random.default_rng(0), replace(answers, scores=own))
    assert (otherwise.state, otherwise.n_compared) == (State.CONFIRMED, len(dataset.rows))
    assert f"in row {more.kept[5] + 1} the model answered" in otherwise.advice[-1]
    assert f"3 of {len(more)} such answers differ" in otherwise.advice[-1]


@pytest.mark.parametrize(
    "final",
    [GradientBoostingClassifier(n_estimators=10), LogisticRegression(max_iter=50, solver="liblinear")],
    ids=["boosting", "linear"],
)
def test_a_model_that_takes_no_missing_cells_answers_none(
    final: Any, dataset: Dataset, frame: pd.DataFrame, tmp_path: Path
) -> None:
    """Compiled trees would send a missing cell somewhere; the estimator itself refuses it."""
    complete = frame.dropna(subset=[*NUMBERS, *LABELS])
    estimator = ordinal(final).fit(complete[[*NUMBERS, *LABELS]], complete["bewilligt"])
    model = opened_model(estimator, dataset, tmp_path)
    assert dataset.incomplete is not None
    assert not is_answered(incomplete_scores(model, dataset.incomplete.rows)).any()
    card = assess_fit(model, dataset, np.random.default_rng(0))
    assert (card.n_incomplete, card.n_answered, card.n_rows) == (len(dataset.incomplete), 0, len(dataset.rows))


def test_a_forest_that_never_saw_one_sends_it_where_scikit_learn_does(
    dataset: Dataset, frame: pd.DataFrame, tmp_path: Path
) -> None:
    complete = frame.dropna(subset=[*NUMBERS, *LABELS])
    estimator = RandomForestClassifier(20, random_state=0).fit(complete[NUMBERS], complete["bewilligt"])
    more = dataset.incomplete
    assert more is not None
    scores = incomplete_scores(opened_model(estimator, dataset, tmp_path), more.rows)
    own = estimator.predict_proba(frame[NUMBERS].iloc[more.kept])[:, list(estimator.classes_).index("nein")]
    np.testing.assert_allclose(scores[:, 0], own, atol=1e-9)


def test_a_model_may_answer_some_of_them(dataset: Dataset, frame: pd.DataFrame, tmp_path: Path) -> None:
    """Numbers are filled in, an unknown label is an error."""
    parts = ColumnTransformer([("n", SimpleImputer(), NUMBERS), ("l", OneHotEncoder(sparse_output=False), LABELS)])
    complete = frame.dropna(subset=LABELS)
    estimator = make_pipeline(parts, LogisticRegression(max_iter=50, solver="liblinear")).fit(
        complete[[*NUMBERS, *LABELS]], complete["bewilligt"]
    )
    more = dataset.incomplete
    assert more is not None
    answered = is_answered(incomplete_scores(opened_model(estimator, dataset, tmp_path), more.rows))
    has_labels = frame[LABELS].notna().all(axis=1).to_numpy()[more.kept]
    assert np.array_equal(answered, has_labels)
    assert answered.any()
    assert not answered.all()


def test_group_figures_count_people_with_missing_cells(dataset: Dataset, frame: pd.DataFrame, tmp_path: Path) -> None:
    estimator = imputing(LogisticRegression(max_iter=200)).fit(frame[[*NUMBERS, *LABELS]], frame["bewilligt"])
    model = opened_model(estimator, dataset, tmp_path)
    names = ("Geschlecht", "Staatsangehörigkeit")
    settings = FigureSettings((names[:1], names[1:], names))
    decided = pd.Series(estimator.predict(frame[[*NUMBERS, *LABELS]]) == "ja", index=frame.index)
    report = report_from_json(
        answer(ModelSession(dataset, model, Scope(("Geschlecht",))), settings.to_json()), settings
    )
    assert (report.n_rows, report.n_incomplete) == (len(frame), len(dataset.incomplete or ()))
    for table in report.tables:
        by_hand = decided.groupby([frame[name] for name in table.attributes]).agg(["sum", "size"])
        assert len(table.groups) == len(by_hand)
        for group in table.groups:
            key = group.labels if len(group.labels) > 1 else group.labels[0]
            assert (group.selection.n_hits, group.selection.n) == tuple(by_hand.loc[key])
    limited = answer(
        ModelSession(dataset, model, Scope(("Geschlecht",), limits={"Score": (50.0, 80.0)})), settings.to_json()
    )
    assert limited["n_rows"] == int(frame["Score"].between(50, 80).sum())


def test_labels_alone_count_them_too(dataset: Dataset, frame: pd.DataFrame) -> None:
    more = dataset.incomplete
    assert more is not None
    everybody = dataset.with_incomplete(np.ones(len(more), dtype=bool))
    assert recorded_labels(everybody).favourable.sum() == (frame["bewilligt"] == "ja").sum()


COLUMNS = [*NUMBERS, *LABELS]


def asked_of_everybody(dataset: Dataset, frame: pd.DataFrame, folder: Path) -> tuple[Any, Model, IncompleteRows]:
    """An estimator that fills in cells, the model of its file, and the rows that miss some."""
    estimator = imputing(LogisticRegression(max_iter=200)).fit(frame[COLUMNS], frame["bewilligt"])
    assert dataset.incomplete is not None
    return estimator, opened_model(estimator, dataset, folder), dataset.incomplete


@pytest.mark.parametrize("gap", [0.0, 0.3])
def test_the_estimate_of_the_datas_people_counts_them(
    gap: float, dataset: Dataset, frame: pd.DataFrame, tmp_path: Path
) -> None:
    estimator, model, more = asked_of_everybody(dataset, frame, tmp_path)
    domain = Domain(dataset.schema, Scope(("Geschlecht",), score_gap=gap))
    events = list(run_estimate(model, domain, dataset.rows, "data", 10_000, 0, incomplete_rows=more.rows))
    share = [event for event in events if isinstance(event, ShareEstimated)][-1]
    scores = np.stack([estimator.predict_proba(frame[COLUMNS].assign(Geschlecht=sex))[:, 1] for sex in ("d", "m", "w")])
    spread = scores.max(axis=0) - scores.min(axis=0)
    is_hit = spread > gap if gap else (scores.max(axis=0) > 0.5) & (scores.min(axis=0) <= 0.5)
    assert (share.n, share.n_hits) == (len(frame), int(is_hit.sum()))
    limited = Domain(dataset.schema, Scope(("Geschlecht",), score_gap=gap, limits={"Score": (50.0, 80.0)}))
    events = list(run_estimate(model, limited, dataset.rows, "data", 10_000, 0, incomplete_rows=more.rows))
    share = [event for event in events if isinstance(event, ShareEstimated)][-1]
    inside = frame["Score"].between(50, 80).to_numpy()
    assert (share.n, share.n_hits) == (int(inside.sum()), int(is_hit[inside].sum()))


def test_of_the_complete_ones_the_estimate_knows_all_when_all_were_drawn(
    dataset: Dataset, frame: pd.DataFrame, tmp_path: Path
) -> None:
    _, model, more = asked_of_everybody(dataset, frame, tmp_path)
    domain = Domain(dataset.schema, Scope(("Geschlecht",)))
    plausibility = Plausibility.learn(dataset.rows, domain, np.random.default_rng(0))

    def told(n: int, seed: int) -> Share:
        settings = (model, domain, dataset.rows, "data", n, seed)
        events = run_estimate(*settings, incomplete_rows=more.rows, learn=lambda: plausibility)
        (found,) = [decode(Share, event.content) for event in events if isinstance(event, ResultReady)]
        return found

    everybody = told(10_000, 0)
    assert (everybody.n, everybody.low, everybody.high) == (len(dataset.rows), everybody.share, everybody.share)
    assert 0 < everybody.share < 1
    covered = [part.low <= everybody.share <= part.high for part in (told(len(frame) // 2, seed) for seed in range(40))]
    assert np.mean(covered) >= 0.9
