"""Names of a model's inputs as exporters mangle them: each is matched when it can mean one thing only, and asked about
otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder as SklearnOneHot
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fairness_engine.data.schema import Column, Kind, Layout, Schema
from fairness_engine.errors import FitError, ProcessError
from fairness_engine.model_process.protocol import failure, raise_failure
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.encoders.encoders import CodesEncoder, LabelsEncoder, choose_encoder
from fairness_engine.models.encoders.one_hot import OneHotEncoder
from fairness_engine.models.fit.report import FitCard
from fairness_engine.models.inputs.names import InputMatch, Names, input_matches
from fairness_engine.models.open import open_model


def words(name: str, *categories: str) -> Column:
    return Column(name, Kind.CATEGORICAL, codes=categories, labels=categories)


def loan_schema(*more: Column, **layout: Any) -> Schema:
    columns = (
        words("Geschlecht", "m", "w"),
        words("Staatsangehörigkeit", "Türkei", "Österreich", "Polen"),
        Column("Laufzeit (Monate)", Kind.INTEGER, minimum=6, maximum=120),
        Column("Einkommen", Kind.REAL, minimum=500.0, maximum=9000.0),
        *more,
    )
    return Schema(columns, label="bewilligt", protected=("Geschlecht",), layout=Layout(**layout))


def meant(schema: Schema, *names: str) -> list[tuple[str, str | None, str]]:
    return [(line.column, line.category, line.how) for line in Names(schema, names).table()]


@pytest.mark.parametrize(
    ("names", "how"),
    [
        (("Geschlecht", "Staatsangehörigkeit", "Laufzeit (Monate)", "Einkommen"), "exact"),
        (("Geschlecht", "Staatsangeh_rigkeit", "Laufzeit__Monate_", "Einkommen"), "normalised"),
        (("geschlecht", "staatsangehoerigkeit", "laufzeit_monate", "EINKOMMEN"), "normalised"),
        (("Geschlecht ", "Staatsangehorigkeit", "Laufzeit [Monate]", "einkommen"), "normalised"),
        (
            ("cat__Geschlecht", "cat__Staatsangehörigkeit", "num__Laufzeit (Monate)", "remainder__Einkommen"),
            "normalised",
        ),
        (("Geschlecht_input", "Staatsangehoerigkeit_input", "laufzeit_monate_input", "input_Einkommen"), "normalised"),
        (("Geschlecht:0", "Staatsangehrigkeit:0", "LaufzeitMonate:0", "serving_default_Einkommen:0"), "normalised"),
    ],
)
def test_columns_are_found_under_the_names_that_exporters_give(names: tuple[str, ...], how: str) -> None:
    schema = loan_schema()
    table = Names(schema, names).table()
    assert [line.column for line in table] == list(schema.names)
    assert [line.category for line in table] == [None] * 4
    assert {line.how for line in table} - {"exact"} <= {how}
    assert how in {line.how for line in table}


@pytest.mark.parametrize(
    "names",
    [
        ("Geschlecht_m", "Staatsangehörigkeit_Türkei", "Staatsangehörigkeit_Polen"),
        ("Geschlecht=m", "Staatsangehörigkeit=Türkei", "Staatsangehörigkeit=Polen"),
        ("geschlecht_M", "staatsangehoerigkeit_tuerkei", "staatsangehoerigkeit_polen"),
        ("Geschlecht_m", "Staatsangeh_rigkeit_T_rkei", "Staatsangeh_rigkeit_Polen"),
        ("Geschlecht[m]", "Staatsangehorigkeit[Turkei]", "Staatsangehorigkeit[Polen]"),
        ("cat__Geschlecht_m", "cat__Staatsangehörigkeit_Türkei", "cat__Staatsangehörigkeit_Polen"),
        ("x0_m", "x1_Türkei", "x1_Polen"),
        ("Geschlecht__m", "Staatsangeh_rigkeit__T_rkei", "Staatsangeh_rigkeit__Polen"),
    ],
)
def test_categories_are_found_under_the_names_that_encoders_give(names: tuple[str, ...]) -> None:
    found = [(column, category) for column, category, _ in meant(loan_schema(), *names)]
    assert found == [("Geschlecht", "m"), ("Staatsangehörigkeit", "Türkei"), ("Staatsangehörigkeit", "Polen")]


def test_between_two_columns_nobody_guesses() -> None:
    euros, dollars = (Column(name, Kind.REAL, minimum=0.0, maximum=1.0) for name in ("Miete (€)", "Miete ($)"))
    schema = loan_schema(euros, dollars)
    matched = Names(schema, ("Geschlecht", "miete"))
    assert matched.missing == ["miete"]
    message = str(matched.refuse())
    assert "input 'miete' may mean 'Miete ($)' or 'Miete (€)'" in message
    assert "Say what they are in the table of the model's inputs" in message
    one_is_taken = Names(schema, ("Miete ($)", "miete"))
    assert [line.column for line in one_is_taken.table()] == ["Miete ($)", "Miete (€)"]


def test_two_inputs_that_may_mean_one_column_are_both_asked_about() -> None:
    matched = Names(loan_schema(), ("EINKOMMEN", "einkommen", "Geschlecht"))
    assert matched.missing == ["EINKOMMEN", "einkommen"]
    assert "inputs 'EINKOMMEN' and 'einkommen' may mean the same, 'Einkommen'" in str(matched.refuse())


def test_numbers_in_names_are_not_confused() -> None:
    schema = Schema((words("score", "-1", "1", "1.5", "15", "<10", ">10"),))
    assert [c for _, c, _ in meant(schema, "Score -1", "Score 1", "Score 15", "SCORE <10")] == ["-1", "1", "15", "<10"]
    only = Schema((words("score", "1", "2"),))
    assert meant(only, "SCORE_-1") == [("", None, "")]


def test_what_the_person_says_wins() -> None:
    names = ("sex", "country", "Laufzeit__Monate_", "Einkommen")
    refusal = Names(loan_schema(), names).refuse()
    assert "2 inputs that are no columns of the data (sex, country); the columns are: Geschlecht, " in str(refusal)
    assert refusal.inputs[0] == {"name": "sex", "column": "", "category": None, "how": ""}
    assert refusal.inputs[3] == {"name": "Einkommen", "column": "Einkommen", "category": None, "how": "exact"}
    said = loan_schema(names={"sex": "Geschlecht", "country": "Staatsangehörigkeit", "of another model": "Einkommen"})
    assert [(c, how) for c, _, how in meant(said, *names)] == [
        ("Geschlecht", "corrected"),
        ("Staatsangehörigkeit", "corrected"),
        ("Laufzeit (Monate)", "normalised"),
        ("Einkommen", "exact"),
    ]
    crossed = loan_schema(names={"Geschlecht": "Staatsangehörigkeit", "Staatsangehörigkeit": "Geschlecht"})
    assert [c for c, _, _ in meant(crossed, *loan_schema().names)][:2] == ["Staatsangehörigkeit", "Geschlecht"]
    one_hot = loan_schema(names={"is_male": "Geschlecht_m"})
    assert meant(one_hot, "is_male") == [("Geschlecht", "m", "corrected")]
    with pytest.raises(FitError, match="said to be 'Gehalt', which is no input of the data"):
        Names(loan_schema(names={"sex": "Gehalt"}), names)


def test_columns_that_are_left_out_are_not_taken_for_others() -> None:
    schema = replace(loan_schema(), columns=(*loan_schema().columns, Column("Alter", Kind.IGNORED)))
    for name in ("Alter", "num__Alter", "alter"):
        with pytest.raises(FitError, match="takes the column 'Alter', which is not among the inputs"):
            Names(schema, (name, "num__Einkommen"))


def test_the_error_travels_with_its_table() -> None:
    refusal = Names(loan_schema(), ("sex", "Einkommen")).refuse()
    with pytest.raises(FitError) as caught:
        raise_failure(failure(refusal))
    assert str(caught.value) == str(refusal)
    assert caught.value.inputs == refusal.inputs
    with pytest.raises(FitError) as caught:
        raise_failure({"error": "FitError", "message": "m", "recipe": 3, "inputs": [1, {"name": 2, "other": "x"}]})
    assert caught.value.recipe == "3"
    assert caught.value.inputs == ({"name": "2", "column": None, "category": None, "how": None},)
    with pytest.raises(ProcessError, match="m"):  # an error of the app's own, which no model's process meets
        raise_failure({"error": "StaleReviewError", "message": "m"})


# --- encoders and models --------------------------------------------------------------------------


def test_inputs_in_another_order_and_spelling_get_their_columns() -> None:
    schema = loan_schema()
    rows = np.array([[1, 2, 36, 1234.5]])
    names = ("einkommen", "Laufzeit__Monate_", "Staatsangeh_rigkeit", "geschlecht")
    codes = choose_encoder(schema, 4, names)
    assert isinstance(codes, CodesEncoder)
    assert codes.names == names
    assert codes.columns == ("Einkommen", "Laufzeit (Monate)", "Staatsangehörigkeit", "Geschlecht")
    assert codes.encode(rows).tolist() == [[1234.5, 36, 2, 1]]
    labels = choose_encoder(schema, 4, names, takes_frame=True)
    assert isinstance(labels, LabelsEncoder)
    assert labels.encode(rows).to_dict("list") == {
        "einkommen": [1234.5],
        "Laufzeit__Monate_": [36],
        "Staatsangeh_rigkeit": ["Polen"],
        "geschlecht": ["w"],
    }
    assert input_matches(labels)[3] == InputMatch("geschlecht", "Geschlecht", None, "normalised")


def test_names_that_only_number_the_inputs_mean_their_order() -> None:
    schema = loan_schema()
    for names in (("x0", "x1", "x2", "x3"), ("f1", "f2", "f3", "f4"), ("input", "input_1", "input_2", "input_3")):
        encoder = choose_encoder(schema, 4, names)
        assert [line.how for line in input_matches(encoder)] == ["position"] * 4
        assert encoder.names == schema.names
        frame = choose_encoder(schema, 4, names, takes_frame=True).encode(np.array([[1, 2, 36, 1234.5]]))
        assert frame.to_dict("records") == [dict(zip(names, ["w", "Polen", 36, 1234.5], strict=True))]
    with pytest.raises(FitError, match="no columns of the data"):
        choose_encoder(schema, 4, ("x0", "x1", "y2", "x3"))


def test_a_one_hot_model_of_more_categories_than_the_data_has() -> None:
    schema = loan_schema()
    names = ("Geschlecht_m", "Geschlecht_w", "Geschlecht_d", "Einkommen")
    encoder = choose_encoder(schema, 4, names)
    assert isinstance(encoder, OneHotEncoder)
    assert encoder.encode(np.array([[0, 0, 6, 700], [1, 0, 6, 800.0]])).tolist() == [[1, 0, 0, 700], [0, 1, 0, 800]]
    assert "does not have (Geschlecht_d): they are always 0" in encoder.notes[0]
    with pytest.raises(FitError, match="'Geschlecht_d'"):  # it may be another word for 'w', which has no input
        choose_encoder(schema, 3, ("Geschlecht_m", "Geschlecht_d", "Einkommen"))
    few = choose_encoder(schema, 2, ("Staatsangehörigkeit_Polen", "Einkommen"))
    assert isinstance(few, OneHotEncoder)
    assert "does not know 2 of the categories of 'Staatsangehörigkeit', for example 'Türkei'" in few.notes[0]


def loan_data(schema: Schema, n_rows: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    frame = LabelsEncoder(schema).encode(sample_rows(schema, n_rows, np.random.default_rng(5)))
    good = frame["Einkommen"] / 3000 + (frame["Geschlecht"] == "m") + (frame["Staatsangehörigkeit"] == "Polen")
    return frame, np.where(good > good.median(), "ja", "nein")


def test_a_pipeline_trained_under_other_names_decides_as_it_does_under_its_own() -> None:
    from fairness_engine.models.open import bind
    from fairness_engine.models.sklearn.binding import bind_estimator
    from fairness_engine.models.sklearn.estimator import prepare_estimator

    schema = loan_schema()
    frame, labels = loan_data(schema)
    own = {
        "Geschlecht": "geschlecht",
        "Staatsangehörigkeit": "staatsangeh_rigkeit",
        "Laufzeit (Monate)": "laufzeit__monate_",
    }
    renamed = frame.rename(columns=own)
    steps = ColumnTransformer(
        [
            ("c", SklearnOneHot(handle_unknown="ignore"), ["geschlecht", "staatsangeh_rigkeit"]),
            ("n", StandardScaler(), ["laufzeit__monate_", "Einkommen"]),
        ]
    )
    for final in (LogisticRegression(), DecisionTreeClassifier(max_depth=4)):
        fitted = make_pipeline(steps, final).fit(renamed, labels)
        predictor, encoder, notes = bind_estimator(prepare_estimator(fitted), schema)
        model = bind(predictor, encoder, schema)
        rows = sample_rows(schema, 500, np.random.default_rng(6))
        expected = fitted.predict(LabelsEncoder(schema).encode(rows).rename(columns=own))
        assert (model.decide(model.scores(rows)) == (expected == "nein")).all()
        assert notes == ()
        assert [line.how for line in input_matches(model.encoder)] == ["normalised"] * 3 + ["exact"]
        assert model.taken(schema.names) == set(schema.names)


def test_a_pipeline_of_a_frame_of_dummies_gets_a_frame() -> None:
    from fairness_engine.models.open import bind
    from fairness_engine.models.sklearn.binding import bind_estimator
    from fairness_engine.models.sklearn.estimator import prepare_estimator

    schema = loan_schema()
    frame, labels = loan_data(schema)
    dummies = pd.get_dummies(frame)
    steps = ColumnTransformer([("n", StandardScaler(), ["Einkommen", "Laufzeit (Monate)"])], remainder="passthrough")
    fitted = make_pipeline(steps, LogisticRegression()).fit(dummies, labels)
    predictor, encoder, _ = bind_estimator(prepare_estimator(fitted), schema)
    model = bind(predictor, encoder, schema)
    rows = sample_rows(schema, 300, np.random.default_rng(6))
    given = pd.get_dummies(LabelsEncoder(schema).encode(rows))[list(dummies.columns)]
    assert (model.decide(model.scores(rows)) == (fitted.predict(given) == "nein")).all()


def test_the_fit_card_says_what_each_input_is_taken_for(tmp_path: Path) -> None:
    import skops.io

    from fairness_engine.data.dataset import Dataset
    from fairness_engine.models.fit.report import assess_fit

    schema = loan_schema()
    frame, labels = loan_data(schema)
    dummies = pd.get_dummies(frame[["Geschlecht", "Einkommen"]])
    fitted = LogisticRegression().fit(dummies.rename(columns={"Geschlecht_m": "geschlecht_M"}), labels)
    skops.io.dump(fitted, tmp_path / "m.skops")
    model = open_model(tmp_path / "m.skops", schema)
    rows = sample_rows(schema, 50, np.random.default_rng(0))
    card = assess_fit(model, Dataset(schema, rows, None, (), np.arange(50), 0, (), "", None), np.random.default_rng(0))
    assert list(card.inputs) == [
        {"name": "Einkommen", "column": "Einkommen", "category": None, "how": "exact"},
        {"name": "geschlecht_M", "column": "Geschlecht", "category": "m", "how": "normalised"},
        {"name": "Geschlecht_w", "column": "Geschlecht", "category": "w", "how": "exact"},
    ]
    assert FitCard.from_json(card.to_json()) == card
    before = {key: value for key, value in card.to_json().items() if key != "inputs"}
    assert FitCard.from_json(before).inputs == ()
