"""Categories as the model spells them, however deep in it the encoder lies: truth values, blanks, Parquet."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier, StackingClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, KFold, TunedThresholdClassifierCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import evenhand
from fairness_engine.data.dataset import make_dataset
from fairness_engine.data.missing import set_missing
from fairness_engine.data.schema import Kind, Schema
from fairness_engine.errors import FitError
from fairness_engine.models.inputs.spelling import dropped_columns, known_categories
from fairness_engine.models.open import open_model
from fairness_engine.models.sklearn import binding

pytestmark = pytest.mark.thorough

N_ROWS = 600
COLUMNS = ["income", "gender", "smoker", "dept"]


def frame() -> pd.DataFrame:
    """People whose smoking decides much, and whose gender some."""
    rng = np.random.default_rng(9)
    people = pd.DataFrame(
        {
            "income": rng.normal(50, 10, N_ROWS).round(1),
            "gender": rng.choice([" m", " f"], N_ROWS),
            "smoker": rng.choice([True, False], N_ROWS),
            "dept": rng.choice(["HR", "IT", "Ops"], N_ROWS),
        }
    )
    sums = (people.income - 50) / 8 + 1.2 * people.smoker - 0.8 * (people.gender == " f")
    people["hired"] = np.where(sums + rng.normal(0, 0.4, N_ROWS) > 0, "yes", "no")
    return people


def columns() -> ColumnTransformer:
    labels = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    return ColumnTransformer([("labels", labels, ["gender", "smoker", "dept"]), ("n", StandardScaler(), ["income"])])


def plain() -> Pipeline:
    return make_pipeline(columns(), LogisticRegression())


MODELS: dict[str, Callable[[], Any]] = {
    "plain": plain,
    "calibrated": lambda: CalibratedClassifierCV(plain(), cv=3),
    "threshold": lambda: FixedThresholdClassifier(plain(), threshold=0.4, pos_label="yes"),
    "a threshold that was chosen": lambda: TunedThresholdClassifierCV(plain(), scoring="balanced_accuracy"),
    "a grid": lambda: GridSearchCV(plain(), {"logisticregression__C": [0.1, 1.0]}, scoring="roc_auc", cv=KFold(3)),
    "stacked": lambda: StackingClassifier([("a", plain()), ("b", plain())], final_estimator=LogisticRegression()),
    "voting on calibrated": lambda: VotingClassifier(
        [("a", CalibratedClassifierCV(plain(), cv=2)), ("b", plain())], voting="soft"
    ),
    "a pipeline in a pipeline": lambda: make_pipeline(make_pipeline(columns()), LogisticRegression()),
    "columns in columns": lambda: make_pipeline(
        ColumnTransformer([("inner", columns(), COLUMNS)]), LogisticRegression()
    ),
    "a union of columns": lambda: make_pipeline(
        FeatureUnion([("all", columns()), ("again", make_pipeline(columns(), StandardScaler()))]), LogisticRegression()
    ),
    "calibrated, with columns before it": lambda: make_pipeline(
        columns(), CalibratedClassifierCV(HistGradientBoostingClassifier(max_iter=10), cv=2)
    ),
    "truth values passed on": lambda: make_pipeline(
        ColumnTransformer([("t", "passthrough", ["smoker", "income"]), ("g", OneHotEncoder(), ["gender", "dept"])]),
        LogisticRegression(),
    ),
}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("name", MODELS)
def test_decisions_are_the_models_own(name: str, suffix: str, tmp_path: Path) -> None:
    people = frame()
    inputs = people[COLUMNS]
    model = MODELS[name]().fit(inputs, people["hired"])
    skops.io.dump(model, tmp_path / "m.skops")
    file = tmp_path / f"people{suffix}"
    people.to_csv(file, index=False) if suffix == ".csv" else people.to_parquet(file)
    data = evenhand.read_data(file, label="hired", favourable="yes")
    for protected, values in (("smoker", [True, False]), ("gender", [" m", " f"])):
        decided = np.stack([model.predict(inputs.assign(**{protected: value})) for value in values])
        truth = int((decided[0] != decided[1]).sum())
        assert truth > 0
        found = evenhand.Review(data, tmp_path / "m.skops", protected=protected).estimate(distribution="data")
        assert (found.n, found.n_hits) == (N_ROWS, truth), protected


def test_categories_of_short_numbers_are_those_of_the_file(tmp_path: Path) -> None:
    """0.1 in four bytes is 0.10000000149: no category of an encoder that was fitted on the file is 0.1."""
    people = frame()
    people["grade"] = np.random.default_rng(3).choice(np.array([0.1, 0.3, 0.7], np.float32), N_ROWS)
    own = ColumnTransformer([("c", OneHotEncoder(handle_unknown="ignore"), ["gender", "grade"])])
    decided = np.where((people.grade > 0.2) & (people.gender == " f") | (people.grade > 0.5), "yes", "no")
    model = make_pipeline(own, LogisticRegression()).fit(people[["gender", "grade"]], decided)
    skops.io.dump(model, tmp_path / "m.skops")
    people.assign(hired=decided)[["gender", "grade", "hired"]].to_parquet(tmp_path / "people.parquet")
    swapped = people[["gender", "grade"]].assign(gender=people.gender.map({" f": " m", " m": " f"}))
    truth = int((model.predict(swapped) != decided).sum())
    assert 0 < truth < N_ROWS
    for kind in ("real", "categorical"):
        data = evenhand.read_data(tmp_path / "people.parquet", label="hired", favourable="yes", kinds={"grade": kind})
        found = evenhand.Review(data, tmp_path / "m.skops", protected="gender").estimate(distribution="data")
        assert (found.n, found.n_hits) == (N_ROWS, truth), kind


@pytest.mark.parametrize("text", ["?", ".", "NA"])
@pytest.mark.parametrize(
    "encoder",
    [OneHotEncoder(handle_unknown="ignore"), OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)],
    ids=["one-hot", "ordinal"],
)
def test_what_a_model_was_trained_with_as_a_category_is_passed_for_missing_cells(
    encoder: Any, text: str, tmp_path: Path
) -> None:
    """An encoder that ignores what it does not know takes NaN for none of its categories, without a word."""
    people = frame()
    people.loc[np.random.default_rng(2).random(N_ROWS) < 0.3, "dept"] = text
    columns_of = ColumnTransformer([("c", encoder, ["gender", "dept"])], remainder="passthrough")
    inputs = people[["income", "gender", "dept"]]
    wanted = np.where((people.income > 50) ^ (people.dept == text) & (people.gender == " f"), "yes", "no")
    model = make_pipeline(columns_of, DecisionTreeClassifier(max_depth=6, random_state=0)).fit(inputs, wanted)
    skops.io.dump(model, tmp_path / "m.skops")
    inputs.assign(hired=wanted).to_parquet(tmp_path / "people.parquet")
    decided = [model.predict(inputs.assign(gender=value)) for value in (" m", " f")]
    truth = int((decided[0] != decided[1]).sum())
    assert (decided[0] != decided[1])[people.dept == text].any()
    data = evenhand.read_data(tmp_path / "people.parquet", label="hired", favourable="yes")
    assert text in data.schema.column("dept").missing
    review = evenhand.Review(data, tmp_path / "m.skops", protected="gender")
    found = review.estimate(distribution="data")
    assert (found.n, found.n_hits) == (N_ROWS, truth)
    opened = open_model(tmp_path / "m.skops", data.schema)
    assert f"was trained with '{text}' of 'dept' as a category" in " ".join(opened.notes)


@pytest.mark.parametrize("is_stacked", [False, True], ids=["plain", "stacked"])
def test_whole_numbers_that_were_floats_in_training_are_given_as_such(is_stacked: bool, tmp_path: Path) -> None:
    """pandas reads whole numbers with missing cells among them as floats, and an imputer that learned so takes no
    others.
    """
    people = frame().assign(income=lambda frame: frame.income.round())
    people.loc[::7, "income"] = np.nan
    inputs = people[["income", "gender"]]
    parts = ColumnTransformer(
        [("c", OneHotEncoder(), ["gender"]), ("n", SimpleImputer(strategy="constant", fill_value=0), ["income"])]
    )
    own = make_pipeline(parts, LogisticRegression())
    model = (StackingClassifier([("own", own)]) if is_stacked else own).fit(inputs, people["hired"])
    with pytest.raises(ValueError, match="cannot be cast"):
        model.predict(inputs.dropna().astype({"income": int}))
    skops.io.dump(model, tmp_path / "m.skops")
    people[["income", "gender", "hired"]].to_csv(tmp_path / "people.csv", index=False)
    data = evenhand.read_data(tmp_path / "people.csv", label="hired", favourable="yes")
    assert data.schema.column("income").kind is Kind.INTEGER
    decided = [model.predict(inputs.assign(gender=value)) for value in (" m", " f")]
    found = evenhand.Review(data, tmp_path / "m.skops", protected="gender").estimate(distribution="data")
    assert (found.n, found.n_hits) == (N_ROWS, int((decided[0] != decided[1]).sum()))


@pytest.mark.parametrize("empty", ["", np.nan], ids=["empty text", "missing cell"])
def test_empty_cells_are_a_category_where_somebody_says_so(empty: Any, tmp_path: Path) -> None:
    """Whether the training had them as empty texts or as missing cells."""
    people = frame()
    people.loc[np.random.default_rng(2).random(N_ROWS) < 0.3, "dept"] = empty
    is_empty = people.dept.isin([empty])
    inputs = people[["income", "gender", "dept"]]
    wanted = np.where((people.income > 50) ^ is_empty & (people.gender == " f"), "yes", "no")
    columns_of = ColumnTransformer(
        [("c", OneHotEncoder(handle_unknown="ignore"), ["gender", "dept"])], remainder="passthrough"
    )
    model = make_pipeline(columns_of, DecisionTreeClassifier(max_depth=6, random_state=0)).fit(inputs, wanted)
    skops.io.dump(model, tmp_path / "m.skops")
    path = tmp_path / "people.csv"
    inputs.assign(hired=wanted).to_csv(path, index=False)
    decided = [model.predict(inputs.assign(gender=value)) for value in (" m", " f")]
    differ = decided[0] != decided[1]
    assert differ[is_empty].any()
    data = evenhand.read_data(path, label="hired", favourable="yes")
    found = evenhand.Review(data, tmp_path / "m.skops", protected="gender").estimate(distribution="data")
    assert (found.n, found.n_hits) == (N_ROWS, int(differ.sum())), "the figures count them in any case"
    assert len(make_dataset(data.table, data.schema).rows) == int((~is_empty).sum())
    schema = set_missing(data.table, data.schema, "dept", "", is_missing=False)
    assert schema.column("dept").labels[0] == "(empty)"
    dataset = make_dataset(data.table, schema)
    opened = open_model(tmp_path / "m.skops", schema, classes=dataset.classes)
    assert len(dataset.rows) == N_ROWS
    rows = dataset.rows.copy()
    answers = []
    for value in (0.0, 1.0):
        rows[:, schema.index("gender")] = value
        answers.append(opened.decide(opened.scores(rows)))
    np.testing.assert_array_equal(answers[0] != answers[1], differ)
    schema.write(tmp_path / "schema.json")
    assert Schema.read(tmp_path / "schema.json") == schema
    assert set_missing(data.table, schema, "dept", "", is_missing=True) == data.schema


def test_empty_cells_beside_a_spelling_that_is_a_category_stay_missing() -> None:
    people = frame()
    people.loc[:99, "dept"] = "?"
    people.loc[100:199, "dept"] = None
    inputs = people[["gender", "dept"]]
    own = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["gender", "dept"]))
    model = make_pipeline(own, LogisticRegression()).fit(inputs, people["hired"])
    schema = evenhand.read_data(people[["gender", "dept", "hired"]], label="hired", favourable="yes").schema
    encoder, notes = binding.encoder_of(model, schema)
    assert not notes
    assert "the model may answer these rows otherwise" in " ".join(encoder.doubts)
    assert encoder.encode(np.array([[0.0, np.nan]])).dept.isna().all()


def test_an_input_of_what_counts_as_missing_is_told_with_what_to_do() -> None:
    people = frame()
    people.loc[:99, "dept"] = "?"
    inputs = pd.get_dummies(people[["income", "dept"]])
    model = LogisticRegression().fit(inputs, people["hired"])
    data = evenhand.read_data(people[["income", "dept", "hired"]], label="hired", favourable="yes")
    with pytest.raises(FitError, match="an input 'dept_\\?', but '\\?' of 'dept' counts as a missing cell"):
        binding.encoder_of(model, data.schema)
    schema = set_missing(data.table, data.schema, "dept", "?", is_missing=False)
    encoder, _ = binding.encoder_of(model, schema)
    assert encoder.encode(make_dataset(data.table, schema).rows).shape == inputs.shape


def test_numbers_of_categories_without_what_counts_as_missing_are_doubted(tmp_path: Path) -> None:
    """An encoder before the file numbered "?" too, first of all: every other category has the number after its own."""
    people = frame()
    people.loc[::5, "dept"] = "?"
    inputs = people[["income", "dept"]].assign(dept=people.dept.rank(method="dense").astype(int) - 1)
    skops.io.dump(DecisionTreeClassifier(max_depth=4).fit(inputs, people["hired"]), tmp_path / "m.skops")
    data = evenhand.read_data(people[["income", "dept", "hired"]], label="hired", favourable="yes")
    said = "'?' of 'dept' counts as a missing cell and has no number"
    assert said in " ".join(open_model(tmp_path / "m.skops", data.schema).notes)
    schema = set_missing(data.table, data.schema, "dept", "?", is_missing=False)
    model = open_model(tmp_path / "m.skops", schema)
    assert said not in " ".join(model.notes)
    rows = make_dataset(data.table, schema).rows
    np.testing.assert_array_equal(model.encoder.encode(rows), inputs.to_numpy(dtype=np.float64))


def test_categories_that_differ_by_blanks_are_said_and_passed_as_they_stand() -> None:
    people = frame()
    people.loc[:200, "dept"] = "HR "
    people.loc[300:350, "dept"] = None
    people["dept"] = people["dept"].fillna("None")
    trained = people.assign(dept=people.dept.where(people.dept != "None"))[["gender", "dept"]]
    own = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["gender", "dept"]))
    model = make_pipeline(own, LogisticRegression()).fit(trained, people["hired"])
    schema = evenhand.read_data(people[["gender", "dept", "hired"]], label="hired", favourable="yes").schema
    encoder, notes = binding.encoder_of(model, schema)
    assert not notes
    assert encoder.doubts[0].startswith("The model knows 'HR' of 'dept' with and without blanks at its ends")
    places = np.arange(4.0)
    passed = encoder.encode(np.column_stack([np.zeros(4), places])).dept.tolist()
    assert passed[:2] == ["HR", "IT"]
    assert pd.isna(passed[2]), "pandas reads the text None as a missing cell, and the model was trained so"
    assert passed[3] == "Ops"


def test_a_column_that_the_model_itself_drops_need_not_be_an_input(tmp_path: Path) -> None:
    people = frame().assign(customer=[f"c{i}" for i in range(N_ROWS)])
    model = plain().fit(people[["customer", *COLUMNS]], people["hired"])
    assert dropped_columns(model) == ["customer"]
    skops.io.dump(model, tmp_path / "m.skops")
    people.to_csv(tmp_path / "people.csv", index=False)
    data = evenhand.read_data(tmp_path / "people.csv", label="hired", favourable="yes")
    decided = [model.predict(people.assign(smoker=value)) for value in (True, False)]
    found = evenhand.Review(data, tmp_path / "m.skops", protected="smoker").estimate(distribution="data")
    assert found.n_hits == (decided[0] != decided[1]).sum() > 0
    whole = make_pipeline(
        ColumnTransformer([("a", "passthrough", ["income"])], remainder="passthrough"), StandardScaler()
    )
    assert dropped_columns(whole.fit(people[["income"]])) == []


@pytest.mark.parametrize(
    ("regions", "unknown"),
    [([1, 2, 3, 7, 9], "4 of those in its range, for example 4"), ([0.5, 1.5, 2.5], "all but 3 of those in its range")],
    ids=["whole", "decimals"],
)
@pytest.mark.parametrize("handle_unknown", ["error", "ignore"])
def test_numbers_that_a_model_takes_for_categories_are_said_by_name(
    handle_unknown: str, regions: list[float], unknown: str, tmp_path: Path
) -> None:
    """The range of 1, 2, 3, 7, 9 has 4, 5, 6 and 8, on which the model fails, or which it takes for nothing."""
    people = frame()
    people["region"] = np.random.default_rng(2).choice(regions, N_ROWS)
    labels = OneHotEncoder(handle_unknown=handle_unknown)
    model = make_pipeline(
        ColumnTransformer([("c", labels, ["region", "dept"]), ("n", StandardScaler(), ["income"])]),
        LogisticRegression(),
    ).fit(people, people["hired"])
    skops.io.dump(model, tmp_path / "m.skops")
    said = f"numbers of 'region' for categories, and was trained without {unknown}"
    as_numbers = evenhand.read_data(people, label="hired", favourable="yes")
    if handle_unknown == "error":
        with pytest.raises(evenhand.Error, match=said):
            evenhand.Review(as_numbers, tmp_path / "m.skops", protected="dept").estimate(distribution="data")
    else:
        opened = open_model(tmp_path / "m.skops", as_numbers.schema, classes=as_numbers.outcomes)
        assert any(re.search(said, sentence) for sentence in opened.notes)
    data = evenhand.read_data(people, label="hired", favourable="yes", kinds={"region": "categorical"})
    decided = np.stack([model.predict(people.assign(dept=value)) for value in ("HR", "IT", "Ops")])
    found = evenhand.Review(data, tmp_path / "m.skops", protected="dept").estimate(distribution="data")
    assert found.n_hits == (decided != decided[0]).any(axis=0).sum()


def test_categories_of_all_members_are_known_together_and_none_by_a_wrong_name() -> None:
    people = frame()
    calibrated = CalibratedClassifierCV(plain(), cv=3).fit(people[COLUMNS], people["hired"])
    known = known_categories(calibrated)
    assert {name: sorted(map(str, values)) for name, values in known.items()} == {
        "gender": [" f", " m"],
        "smoker": ["False", "True"],
        "dept": ["HR", "IT", "Ops"],
    }
    reordered = make_pipeline(
        ColumnTransformer([("b", "passthrough", ["dept"]), ("a", "passthrough", ["gender"])]),
        OneHotEncoder(),
        LogisticRegression(),
    ).fit(people[["gender", "dept"]], people["hired"])
    assert known_categories(reordered) == {}, "what it encodes comes in another order than its inputs"
    of_arrays = BaggingClassifier(LogisticRegression()).fit(people[["income"]], people["hired"])
    assert known_categories(of_arrays) == {}
    by_place = ColumnTransformer([("e", OneHotEncoder(), np.array([False, True, False, True]))])
    found = known_categories(make_pipeline(by_place, LogisticRegression()).fit(people[COLUMNS], people["hired"]))
    assert set(found) == {"gender", "dept"}
    assert not any(isinstance(value, float) and math.isnan(value) for value in known["dept"])
