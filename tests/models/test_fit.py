"""The fit card and its warnings; functions as models; models of Keras that only Keras evaluates."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_models import mixed_schema, numbers_schema, random_network

from fairness_engine.data.dataset import Dataset, make_dataset
from fairness_engine.data.schema import ModelInput, Schema
from fairness_engine.data.table import read_table
from fairness_engine.errors import FitError, ModelError
from fairness_engine.models.callable_model import open_callable
from fairness_engine.models.encoders.domain_values import sample_rows
from fairness_engine.models.encoders.encoders import CodesEncoder
from fairness_engine.models.fit.probing import finite
from fairness_engine.models.fit.reading import assess_briefly
from fairness_engine.models.fit.reading_state import Reading, State
from fairness_engine.models.fit.report import FitCard, assess_fit
from fairness_engine.models.fit.roc import auc
from fairness_engine.models.model import Output, measure_rows_per_second
from fairness_engine.models.open import bind, open_model

SCHEMA = numbers_schema()
N_CALLS = itertools.count()
ROWS = sample_rows(SCHEMA, 600, np.random.default_rng(0))


def dataset(labels: np.ndarray | None, classes: tuple[str, ...] = ("no", "yes"), rows: np.ndarray = ROWS) -> Dataset:
    return Dataset(SCHEMA, rows, labels, classes, np.arange(len(rows)), 0, (), "", 1)


def share(rows: np.ndarray) -> np.ndarray:
    return (rows[:, 0] + rows[:, 1]) / 18


def never_the_same(rows: np.ndarray) -> np.ndarray:
    """Another score of every row each time it is asked."""
    return (share(rows) + next(N_CALLS) * 0.6180339887) % 1


def seldom(rows: np.ndarray) -> np.ndarray:
    """Random of many rows alone."""
    return share(rows) if len(rows) <= 64 else never_the_same(rows)


def card_of(function: Any, labels: np.ndarray | None = None, **settings: Any) -> FitCard:
    model = open_callable(function, SCHEMA, **settings)
    return assess_fit(model, dataset(labels), np.random.default_rng(0))


def test_a_card_of_a_good_model_has_facts_and_no_warning():
    labels = (share(ROWS) > 0.5).astype(np.int64)
    labels[:30] = 1 - labels[:30]
    card = card_of(share, labels, classes=("no", "yes"))
    assert card.warnings == ()
    assert card.accuracy == pytest.approx(0.95)
    assert card.majority_share == pytest.approx(max(labels.mean(), 1 - labels.mean()))
    assert card.auc is not None
    assert card.auc > 0.85
    assert card.output == {"min": share(ROWS).min(), "max": share(ROWS).max(), "kind": "probability"}
    assert card.class_shares == pytest.approx({"no": (share(ROWS) <= 0.5).mean(), "yes": (share(ROWS) > 0.5).mean()})
    assert (card.uses_protected, card.is_deterministic, card.threshold) == ({"a": True}, True, 0.5)
    assert (card.n_inputs, card.classes, card.favourable, card.n_classes) == (4, ("no", "yes"), 1, 2)
    assert card.not_taken == ()
    assert card.rows_per_second > 10_000
    first = card.sample_rows[0]
    assert first["received"] == {name: int(value) for name, value in zip("abcd", ROWS[0], strict=True)}
    assert first["labels"] == {name: str(int(value)) for name, value in zip("abcd", ROWS[0], strict=True)}
    assert first["score"] == share(ROWS)[0]
    assert first["decision"] == ("yes" if share(ROWS)[0] > 0.5 else "no")


def test_a_card_survives_json():
    card = card_of(share, (share(ROWS) > 0.5).astype(np.int64))
    assert FitCard.from_json(json.loads(json.dumps(card.to_json()))) == card
    with pytest.raises(ModelError, match="its own fields"):
        FitCard.from_json({"format": "x"})


def test_a_card_that_was_stored_before_gradients_were_asked_about_is_read():
    content = {name: value for name, value in card_of(share).to_json().items() if name != "has_gradient"}
    assert FitCard.from_json(content).has_gradient is False
    with pytest.raises(ModelError, match="its own fields"):
        FitCard.from_json({**content, "has_slope": True})


def test_the_card_says_whether_the_model_has_a_gradient():
    assert card_of(share).has_gradient is False
    network = bind(random_network((4, 3, 1)), CodesEncoder(SCHEMA), SCHEMA)
    assert assess_fit(network, dataset(None), np.random.default_rng(0)).has_gradient is True


@pytest.mark.parametrize(
    ("function", "labels", "settings", "message"),
    [
        (
            share,
            (share(ROWS) < 0.5).astype(np.int64),
            {},
            r"Class 1 is taken for '1', which fits the labels badly \(AUC 0\.0",
        ),
        (lambda rows: np.full(len(rows), 0.2), None, {}, "gives every row the same score"),
        (
            lambda rows: np.where(rows[:, 0] == 3.5, 0.9, 0.01 * share(rows)),
            None,
            {},
            "Nearly every row of the data is decided '0'",
        ),
        (lambda rows: share(rows) * 8 - 4, None, {}, "they are scores, not probabilities, and the threshold is 0"),
        (lambda rows: share(rows) * 2, None, {"output": Output.PROBABILITY}, "are no probabilities"),
        (lambda rows: rows[:, 1] / 9, None, {}, "No score changes with 'a'.*find nothing by construction.*groups"),
        (seldom, None, {}, "is random: two runs differ on 600 of 600 rows"),
        (
            lambda rows: np.where(rows[:, 0] > 7, np.nan, share(rows)),
            None,
            {},
            r"no number \(NaN\) for \d+ of 600 rows",
        ),
        (
            lambda rows: np.stack([rows[:, 0], rows[:, 1], rows[:, 2]], axis=1) / 9,
            None,
            {},
            "between 3 classes.*is taken for the favourable one",
        ),
        (
            lambda rows: (share(rows) > 0.5).astype(float),
            None,
            {"output": Output.LABEL},
            "labels without scores.*Use a version of it that gives probabilities",
        ),
        (
            lambda rows: rows[:, 2] / 9,
            np.repeat(np.array([0, 1]), [400, 200]),
            {},
            "not clearly better than guessing",
        ),
        (
            lambda rows: share(rows) * 0.4,
            (share(ROWS) > 0.7).astype(np.int64),
            {},
            "no more than always saying the commonest outcome",
        ),
    ],
)
def test_each_misfit_is_said_with_a_remedy(function: Any, labels: Any, settings: dict[str, Any], message: str):
    import re

    card = card_of(function, labels, **settings)
    assert any(re.search(message, warning) for warning in card.warnings), card.warnings
    assert all(warning.count(". ") + warning.count(": ") >= 1 for warning in card.warnings)


@pytest.mark.thorough
def test_a_slow_model_is_timed_on_few_rows_and_said():
    calls = []

    def slow(rows: np.ndarray) -> np.ndarray:
        calls.append(len(rows))
        time.sleep(0.0008 * len(rows))
        return share(rows)

    model = open_callable(slow, numbers_schema(4))
    small = dataset(None, rows=ROWS[:100])
    card = assess_fit(
        model, Dataset(*[getattr(small, f) for f in small.__dataclass_fields__]), np.random.default_rng(0)
    )
    assert "The model is slow: about" in card.warnings[-1]
    assert card.rows_per_second < 2000
    assert sum(calls) < 40_000  # half a minute of it


def test_rows_that_are_no_numbers_are_kept_from_the_model():
    rows = ROWS.copy()
    rows[5, 1] = np.nan
    card = assess_fit(open_callable(share, SCHEMA), dataset(None, rows=rows), np.random.default_rng(0))
    assert card.n_rows == len(ROWS) - 1
    assert card.warnings == ()


def test_outcomes_of_another_number_have_no_accuracy():
    card = card_of(share, np.zeros(600, dtype=np.int64))
    assert card.auc is None
    model = open_callable(share, SCHEMA)
    card = assess_fit(model, dataset(np.zeros(600, dtype=np.int64), ("a", "b", "c")), np.random.default_rng(0))
    assert card.accuracy is None


def test_auc_counts_ties_half():
    assert auc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1]) == 1) == 0.75
    assert auc(np.array([0.5, 0.5]), np.array([True, False])) == 0.5
    assert auc(np.array([0.5, np.nan]), np.array([True, False])) is None
    assert auc(np.array([0.5, 0.6]), np.array([True, True])) is None


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["network.keras", "forest.skops", "pipeline.skops", "dense.onnx", "svm.skops"])
def test_cards_of_the_sample_models(root: Path, name: str):
    schema = Schema.read(root / "sample_data" / "census_income.schema.json")
    data = make_dataset(read_table(root / "sample_data" / "census_income.csv"), schema)
    path = root / "sample_models" / f"census_income_{name}"
    model = open_model(path, data.schema, classes=data.classes, favourable=data.favourable_class or 0)
    card = assess_fit(model, data, np.random.default_rng(0))
    assert card.accuracy is not None
    assert card.majority_share is not None
    assert card.accuracy > card.majority_share + 0.1
    assert card.uses_protected["sex"]
    assert card.classes == data.classes


@pytest.mark.shared
def test_the_card_of_a_published_network(shared: Path):
    schema = Schema.read(shared / "data/peer/adult__fairify_fairquant.schema.json")
    data = make_dataset(read_table(shared / "data/peer/adult__fairify_fairquant.csv"), schema)
    model = open_model(shared / "models/fairify/AC-1.h5", data.schema, classes=data.classes)
    card = assess_fit(model, data, np.random.default_rng(0))
    assert card.accuracy is not None
    assert card.accuracy > 0.82
    assert card.auc is not None
    assert card.auc > 0.85
    assert card.layers == (13, 16, 8, 1)
    assert card.warnings == ()
    rate = measure_rows_per_second(model, sample_rows(schema, 65_536, np.random.default_rng(0)))
    assert rate > 1_000_000  # about 25 million on one idle core; other work may share it


# --- functions as models ------------------------------------------------------------------


def test_a_function_gets_labels_when_the_schema_says_so():
    def by_labels(frame: Any) -> np.ndarray:
        return np.where(frame["sex"] == "M", 0.9, 0.1)

    model = open_callable(by_labels, mixed_schema(ModelInput.LABELS))
    assert model.scores(np.array([[0, 30, 0, 1.0], [1, 30, 0, 1.0]]))[:, 0].tolist() == [0.1, 0.9]
    assert model.margins(np.array([[1, 30, 0, 1.0]]))[0, 0] == pytest.approx(0.4)


def test_a_function_may_give_both_probabilities_or_logits():
    two = open_callable(lambda rows: np.stack([1 - share(rows), share(rows)], axis=1), SCHEMA)
    assert two.is_binary
    assert np.allclose(two.scores(ROWS)[:, 0], share(ROWS))
    logits = open_callable(lambda rows: rows[:, 0] - 4.5, SCHEMA)
    assert (logits.predictor.output, logits.threshold) == (Output.LOGIT, 0.0)
    three = open_callable(lambda rows: rows[:, :3], SCHEMA)
    assert np.array_equal(three.margins(ROWS), ROWS[:, :3])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda rows: ["a"] * len(rows), "must return numbers"),
        (lambda rows: np.array([{}] * len(rows)), "must return numbers"),
        (lambda rows: np.zeros((len(rows), 2, 2)), "one line of scores a row"),
        (lambda rows: share(rows)[:-1], "one line of 1 scores a row"),
        (lambda rows: 1 / 0, r"raised ZeroDivisionError: division by zero"),
    ],
)
def test_functions_that_return_no_scores_are_refused(function: Any, message: str):
    with pytest.raises(FitError, match=message):
        open_callable(function, SCHEMA)


def test_a_model_that_fails_on_every_row_later_says_so():
    class Moody:
        n = 0

        def __call__(self, rows: np.ndarray) -> np.ndarray:
            self.n += 1
            if self.n > 1:
                raise RuntimeError("not again")
            return share(rows)

    with pytest.raises(FitError, match=r"fails on rows of the data \(RuntimeError: not again\)"):
        open_callable(Moody(), SCHEMA)


def test_models_work_in_blocks_where_inputs_are_wider_than_rows():
    schema = mixed_schema(ModelInput.ONE_HOT)
    network = random_network((7, 5, 1))
    model = open_callable(lambda inputs: network.predict(inputs)[:, 0], schema)
    rows = sample_rows(schema, 10_001, np.random.default_rng(0))
    assert model.encoder.block_rows is not None
    assert len(rows) > 2 * model.encoder.block_rows
    assert np.allclose(model.scores(rows), network.predict(model.encoder.encode(rows)), atol=1e-12)


# --- Keras evaluates ----------------------------------------------------------------------

RUNTIME = """
import json, sys
from pathlib import Path
import keras, numpy as np
from keras import layers as L
from fairness_engine.errors import EvenhandError
from fairness_engine.models.open import bind, open_model
from fairness_engine.models.model import measure_rows_per_second
from fairness_engine.data.schema import Column, Kind, Schema
folder = Path(sys.argv[1])
keras.utils.set_random_seed(3)
columns = [Column(name, Kind.INTEGER, minimum=0, maximum=9) for name in "abcd"]
plain = Schema(tuple(columns))
text = Schema((columns[0], Column("b", Kind.CATEGORICAL, codes=("x", "y"), labels=("x", "y")), *columns[2:]))
row = keras.Input((4,))
hidden = L.Dense(4, activation="relu")(row)
parts = [keras.Input((1,), name="a"), keras.Input((1,), name="b", dtype="string")]
looked_up = L.StringLookup(vocabulary=["x", "y"], output_mode="one_hot")(parts[1])
models = {
    "convolution.keras": (plain, keras.Sequential([keras.Input((4, 1)), L.Conv1D(3, 2), L.Flatten(), L.Dense(1,
    activation="sigmoid")])),
    "recurrent.keras": (plain, keras.Sequential([keras.Input((1, 4)), L.LSTM(3), L.Dense(2, activation="softmax")])),
    "recurrent.h5": (plain, keras.Sequential([keras.Input((1, 4)), L.GRU(3), L.Dense(2)])),
    "steps.keras": (plain, keras.Sequential([keras.Input((None, 1)), L.SimpleRNN(3), L.Dense(1,
    activation="sigmoid")])),
    "branch.keras": (plain, keras.Model(row, L.Dense(3, activation="softmax")(L.Add()([row, hidden])))),
    "inner.keras": (plain, keras.Sequential([keras.Input((4,)), L.Dense(3, activation="gelu"),
                                             keras.Sequential([L.Dense(1, activation="sigmoid")])])),
    "columns.keras": (text, keras.Model(parts, L.Dense(1, activation="sigmoid")(L.Concatenate()([parts[0],
    looked_up])))),
}
result = {}
rows = np.random.default_rng(0).integers(0, 2, (300, 4)).astype(float)
for name, (schema, model) in models.items():
    model.save(folder / name)
    (folder / "blob").write_bytes((folder / name).read_bytes())
    opened = open_model(folder / "blob", schema, name=name)
    if name == "columns.keras":
        from tensorflow import constant
        given = {"a": keras.ops.convert_to_tensor(rows[:, :1], dtype="float32"),
            "b": constant([["xy"[int(v)]] for v in rows[:, 1]])}
    else:
        given = rows.reshape(len(rows), *[n or -1 for n in model.input_shape[1:]]).astype("float32")
    expected = np.asarray(model(given, training=False), dtype=float).reshape(len(rows), -1)
    if expected.shape[1] == 2:
        expected = expected[:, 1:] if opened.predictor.output == "probability" else expected[:, 1:] - expected[:, :1]
    scores = opened.scores(rows)
    margins = opened.margins(rows)
    result[name] = {
        "difference": float(np.abs(scores - expected).max()),
        "margin": float(np.abs(margins - (scores - (opened.threshold if opened.is_binary else 0))).max()),
        "output": str(opened.predictor.output), "kind": opened.predictor.kind, "rounding": opened.rounding,
        "empty": list(opened.predictor.predict(rows[:0]).shape) if name != "columns.keras" else [0, 1],
    }
refused = {
    "two_outputs.keras": keras.Model(row, [L.Dense(1)(row), L.Dense(1)(hidden)]),
    "text.keras": keras.Sequential([keras.Input((), dtype="string"), L.TextVectorization(vocabulary=["a", "b"],
    output_mode="multi_hot"), L.Dense(1)]),
}
other = keras.Input((4,), name="other")
refused["wide_inputs.keras"] = keras.Model([row, other], L.Dense(1)(L.Add()([row, other])))
for name, model in refused.items():
    model.save(folder / name)
    try:
        open_model(folder / name, plain)
        result[name] = "opened"
    except EvenhandError as error:
        result[name] = str(error)
import zipfile
with zipfile.ZipFile(folder / "convolution.keras") as archive:
    members = {n: archive.read(n) for n in archive.namelist()}
for name, change in {"no_weights.keras": ("model.weights.h5", None), "mismatch.keras": ("config.json",
    b'"filters": 3')}.items():
    kept = dict(members)
    if change[1] is None:
        kept.pop(change[0])
    else:
        kept[change[0]] = kept[change[0]].replace(change[1], b'"filters": 5')
    with zipfile.ZipFile(folder / name, "w") as archive:
        for n, content in kept.items():
            archive.writestr(n, content)
    try:
        open_model(folder / name, plain)
        result[name] = "opened"
    except EvenhandError as error:
        result[name] = str(error)
print(json.dumps(result))
"""


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process with Keras said of models that only Keras evaluates."""
    folder = tmp_path_factory.mktemp("runtime")
    command = [sys.executable, "-c", RUNTIME, str(folder)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("convolution.keras", "probability"),
        ("recurrent.keras", "probability"),
        ("recurrent.h5", "logit"),
        ("steps.keras", "probability"),
        ("branch.keras", "probability"),
        ("inner.keras", "probability"),
        ("columns.keras", "probability"),
    ],
)
def test_keras_evaluates_what_is_no_chain_of_dense_layers(runtime: dict[str, Any], name: str, output: str):
    seen = runtime[name]
    assert seen["difference"] < 1e-6
    assert seen["margin"] < 1e-12
    assert (seen["output"], seen["rounding"]) == (output, 1e-6)
    assert seen["kind"].startswith("Keras model (")
    assert seen["empty"][0] == 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("two_outputs.keras", "has 2 outputs"),
        ("text.keras", "reads text"),
        ("wide_inputs.keras", "cannot be known which columns the model's inputs are made of"),
        ("no_weights.keras", "must hold 'model.weights.h5'"),
        ("mismatch.keras", "Keras cannot load the model"),
    ],
)
def test_keras_models_that_do_not_take_rows_are_refused(runtime: dict[str, Any], name: str, message: str):
    assert message in runtime[name]


def test_columns_that_the_model_leaves_out_are_named(tmp_path: Path) -> None:
    from sklearn.linear_model import LogisticRegression
    from skops.io import dump

    names = list(SCHEMA.names)
    frame = pd.DataFrame(ROWS, columns=names)
    estimator = LogisticRegression().fit(frame[names[:3]], (share(ROWS) > 0.5).astype(int))
    dump(estimator, tmp_path / "three.skops")
    model = open_model(tmp_path / "three.skops", SCHEMA)
    card = assess_fit(model, dataset(None), np.random.default_rng(0))
    assert card.not_taken == (names[3],)


def test_a_model_that_answers_otherwise_the_second_time_is_refused_when_it_is_opened():
    with pytest.raises(FitError, match="is random: asked twice, it answers 64 of 64 rows otherwise") as caught:
        open_callable(never_the_same, SCHEMA)
    assert len(str(caught.value)) <= 300


def test_a_run_says_of_a_model_that_is_seldom_random_what_the_fit_card_says():
    model = open_callable(seldom, SCHEMA)
    labels = (share(ROWS) > 0.5).astype(np.int64)
    found, is_steady = assess_briefly(model, dataset(labels), 1e6, np.random.default_rng(0))
    assert found.state == State.UNCONFIRMED
    assert found.advice[0] == card_of(seldom).warnings[0]
    assert found.advice[0].startswith("The model is random: two runs differ on 600 of 600 rows")
    assert not is_steady
    known = Reading(State.PLAUSIBLE, auc=0.75)
    again, is_steady = assess_briefly(model, dataset(labels), 1e6, np.random.default_rng(0), known)
    assert not is_steady, "it is asked twice at each run"
    assert again == replace(known, state=State.UNCONFIRMED, advice=found.advice[:1])


def test_what_is_known_of_the_reading_of_a_steady_model_is_not_judged_again():
    model = open_callable(lambda rows: rows[:, 3], SCHEMA)
    known = Reading(State.CONFIRMED, auc=0.75)
    labels = (share(ROWS) > 0.5).astype(np.int64)
    assert assess_briefly(model, dataset(labels), 1e6, np.random.default_rng(0), known) == (known, True)


def test_a_question_about_rows_without_a_score_is_answered_in_a_sentence():
    assert finite(np.zeros((2, 1))).shape == (2, 1)
    with pytest.raises(FitError, match=r"gives no number \(NaN\) for 1 of 2 rows"):
        finite(np.array([[0.5], [np.nan]]))
