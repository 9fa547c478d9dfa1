"""Models that take strings: what is opened, what is refused, whose outcome is whose, and the fit card."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.svm import LinearSVC
from skops.io import dump

from fairness_engine.data.schema import Column, Kind, Schema
from fairness_engine.data.table import read_table
from fairness_engine.data.texts import make_texts
from fairness_engine.errors import FitError, ModelError, SettingError
from fairness_engine.models.fit.report import FitCard
from fairness_engine.models.fit.text_report import assess_text_fit
from fairness_engine.models.model import Output
from fairness_engine.models.open_text import open_text_model
from fairness_engine.models.text_model import TextModel, score_texts

SCHEMA = Schema(
    (
        Column("said", Kind.TEXT),
        Column("verdict", Kind.CATEGORICAL, codes=("toxic", "fine"), labels=("toxic", "fine")),
    ),
    label="verdict",
    favourable="fine",
)
GOOD = ["a lovely day", "I like this", "lovely like", "thank you for this", "a fine day", "what a good text"]
BAD = ["a horrid day", "I hate this", "horrid hate", "shame on you for this", "a rotten day", "what a bad text"]
TEXTS = [*GOOD, *BAD]
LABELS = ["fine"] * len(GOOD) + ["toxic"] * len(BAD)
SAID = "said,verdict\n" + "\n".join(f"{text},{label}" for text, label in zip(TEXTS, LABELS, strict=True)) + "\n"


def saved(folder: Path, estimator: Any) -> Path:
    path = folder / "model.skops"
    dump(estimator.fit(TEXTS, LABELS), path)
    return path


LINEAR = LogisticRegression(C=50.0)
ESTIMATORS = {
    "tfidf": make_pipeline(TfidfVectorizer(), LINEAR),
    "counts": make_pipeline(CountVectorizer(ngram_range=(1, 2)), MultinomialNB()),
    "hashing": make_pipeline(HashingVectorizer(n_features=256), SGDClassifier(random_state=0)),
    "margins": make_pipeline(TfidfVectorizer(analyzer="char", ngram_range=(2, 4)), LinearSVC()),
    "forest": make_pipeline(CountVectorizer(), RandomForestClassifier(20, random_state=0, n_jobs=2)),
    "union": make_pipeline(FeatureUnion([("a", CountVectorizer()), ("b", TfidfVectorizer(analyzer="char"))]), LINEAR),
    "nested": make_pipeline(make_pipeline(CountVectorizer()), LINEAR),
    "vote": VotingClassifier(
        [("a", make_pipeline(CountVectorizer(), MultinomialNB())), ("b", make_pipeline(TfidfVectorizer(), LINEAR))]
    ),
    "calibrated": CalibratedClassifierCV(make_pipeline(TfidfVectorizer(), LinearSVC()), cv=2),
    "searched": GridSearchCV(make_pipeline(TfidfVectorizer(), LINEAR), {"tfidfvectorizer__min_df": [1]}, cv=2),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_pipeline_of_scikit_learn_decides_as_it_does_itself(tmp_path: Path, name: str) -> None:
    estimator = ESTIMATORS[name]
    model = open_text_model(saved(tmp_path, estimator), SCHEMA, classes=("toxic", "fine"), favourable=1)
    decisions = model.decide(model.scores(TEXTS))
    assert [model.classes[i] for i in decisions] == estimator.predict(TEXTS).tolist()
    assert model.is_favourable(TEXTS).tolist() == (estimator.predict(TEXTS) == "fine").tolist()
    assert model.is_binary
    assert (np.sign(model.margins(TEXTS)[:, 0]) > 0).tolist() == (decisions == 1).tolist()


def test_classes_are_matched_by_name_whatever_their_order(tmp_path: Path) -> None:
    path = saved(tmp_path, ESTIMATORS["tfidf"])  # its own order is fine, toxic
    for classes, favourable in ((("toxic", "fine"), 1), (("fine", "toxic"), 0)):
        model = open_text_model(path, SCHEMA, classes=classes, favourable=favourable)
        assert model.is_favourable(["a lovely lovely day", "a horrid horrid day"]).tolist() == [True, False]
        assert model.classes[model.favourable] == "fine"


def test_three_classes_are_decided_by_the_highest_score(tmp_path: Path) -> None:
    labels = ["fine"] * 6 + ["toxic"] * 3 + ["odd"] * 3
    path = tmp_path / "three.skops"
    dump(make_pipeline(TfidfVectorizer(), LINEAR).fit(TEXTS, labels), path)
    model = open_text_model(path, Schema((Column("said", Kind.TEXT),)), favourable=0)
    assert model.classes == ("fine", "odd", "toxic")
    assert model.scores(TEXTS).shape == (12, 3)
    assert model.is_favourable(TEXTS).tolist() == [label == "fine" for label in labels]


def test_a_threshold_moves_decisions(tmp_path: Path) -> None:
    path = saved(tmp_path, ESTIMATORS["tfidf"])
    n = [
        int(open_text_model(path, SCHEMA, classes=("toxic", "fine"), threshold=t).is_favourable(TEXTS).sum())
        for t in (0.0, 0.5, 1.0)
    ]
    assert n == [12, 6, 0]


def test_a_model_of_tables_is_refused(tmp_path: Path) -> None:
    dump(LogisticRegression().fit(np.arange(24).reshape(12, 2), LABELS), tmp_path / "table.skops")
    with pytest.raises(FitError, match="'LogisticRegression' takes a row of a table"):
        open_text_model(tmp_path / "table.skops", SCHEMA)


def test_a_vectorizer_that_reads_the_files_that_texts_name_is_refused(tmp_path: Path) -> None:
    alone = make_pipeline(CountVectorizer(), LINEAR).fit(TEXTS, LABELS)
    alone[0].input = "filename"
    joined = VotingClassifier([("a", make_pipeline(TfidfVectorizer(), LINEAR)), ("b", ESTIMATORS["counts"])])
    joined.fit(TEXTS, LABELS).estimators_[0][0].input = "file"
    for estimator, name in ((alone, "CountVectorizer"), (joined, "TfidfVectorizer")):
        dump(estimator, tmp_path / "model.skops")
        with pytest.raises(ModelError, match=f"'{name}' takes names of files"):
            open_text_model(tmp_path / "model.skops", SCHEMA)


def test_other_formats_and_damaged_files_are_refused(tmp_path: Path, root: Path) -> None:
    path = saved(tmp_path, ESTIMATORS["tfidf"])
    (tmp_path / "cut.skops").write_bytes(path.read_bytes()[:500])
    with pytest.raises(ModelError):
        open_text_model(tmp_path / "cut.skops", SCHEMA)
    with pytest.raises(FitError, match=r"must be a scikit-learn pipeline \(.skops\) or a Keras model"):
        open_text_model(root / "sample_models" / "credit_planted.onnx", SCHEMA)
    with pytest.raises(FitError, match="takes a row of numbers"):
        open_text_model(root / "sample_models" / "census_income_network.keras", SCHEMA)
    with pytest.raises(SettingError, match="favourable class"):
        open_text_model(path, SCHEMA, favourable=2)


# --- the fit card
# -----------------------------------------------------------------------------------------------------------


def test_the_fit_card_has_the_facts_of_the_texts(tmp_path: Path) -> None:
    model = open_text_model(saved(tmp_path, ESTIMATORS["tfidf"]), SCHEMA, classes=("toxic", "fine"))
    texts = make_texts(read_table(SAID.encode()), SCHEMA, "said")
    card = assess_text_fit(model, texts, np.random.default_rng(0))
    assert (card.accuracy, card.majority_share, card.auc) == (1.0, 0.5, 1.0)
    assert card.class_shares == {"toxic": 0.5, "fine": 0.5}
    assert (card.n_rows, card.n_inputs, card.kind) == (12, 1, "TfidfVectorizer and LogisticRegression")
    assert card.is_deterministic
    assert card.rows_per_second > 0
    assert [shown["labels"]["said"] for shown in card.sample_rows] == TEXTS[:3]
    assert [shown["decision"] for shown in card.sample_rows] == ["fine"] * 3
    assert FitCard.from_json(json.loads(json.dumps(card.to_json()))) == card


def test_a_label_that_is_sometimes_missing_is_left_out_of_the_accuracy(tmp_path: Path) -> None:
    model = open_text_model(saved(tmp_path, ESTIMATORS["tfidf"]), SCHEMA, classes=("toxic", "fine"))
    texts = make_texts(read_table((SAID + "unheard of,\n,fine\n").encode()), SCHEMA, "said")
    card = assess_text_fit(model, texts, np.random.default_rng(0))
    assert (card.n_rows, card.accuracy) == (13, 1.0)
    unlabelled = make_texts(read_table(SAID.encode()), Schema((Column("said", Kind.TEXT),)), "said")
    card = assess_text_fit(model, unlabelled, np.random.default_rng(0))
    assert (card.accuracy, card.majority_share, card.auc) == (None, None, None)


def test_a_fit_that_looks_wrong_is_said(tmp_path: Path) -> None:
    texts = make_texts(read_table(SAID.encode()), SCHEMA, "said")
    path = saved(tmp_path, ESTIMATORS["tfidf"])
    exchanged = open_text_model(path, SCHEMA, classes=("yes", "no"))  # names that match nothing: by position
    said = assess_text_fit(exchanged, texts, np.random.default_rng(0)).warnings
    assert any("matched in this order" in sentence for sentence in said)
    constant = open_text_model(path, SCHEMA, classes=("toxic", "fine"), threshold=1.0)
    card = assess_text_fit(constant, texts, np.random.default_rng(0))
    assert any("Nearly every text is decided 'toxic'" in sentence for sentence in card.warnings)
    assert any("no more than always saying the commonest outcome" in sentence for sentence in card.warnings)


class Odd:
    """A predictor that gives what a function says; of two classes."""

    kind = "odd"
    n_inputs = 1
    n_scores = 1

    def __init__(self, say: Callable[[list[str]], Any], output: Output = Output.PROBABILITY) -> None:
        self._say = say
        self.output = output

    def predict(self, inputs: Any) -> Any:
        return self._say(list(inputs))

    def margins(self, inputs: Any, threshold: float) -> Any:
        return self.predict(inputs) - threshold


@pytest.mark.parametrize(
    ("say", "output", "said"),
    [
        (lambda texts: np.full((len(texts), 1), 0.3), Output.PROBABILITY, "every text the same score (0.3)"),
        (lambda texts: np.random.default_rng().random((len(texts), 1)), Output.PROBABILITY, "The model is random"),
        (lambda texts: np.full((len(texts), 1), np.nan), Output.PROBABILITY, "no number (NaN) for 12 of 12 texts"),
        (lambda texts: np.array([[float("a" in text)] for text in texts]), Output.LABEL, "labels without scores"),
        (
            lambda texts: np.array([[float(text in BAD)] for text in texts]),
            Output.PROBABILITY,
            "look inverted (AUC 0.00",
        ),
        (lambda texts: (time.sleep(0.2), np.full((len(texts), 1), 0.3))[1], Output.PROBABILITY, "The model is slow"),
    ],
)
def test_what_is_odd_about_a_model_is_said_with_a_remedy(say: Any, output: Output, said: str) -> None:
    texts = make_texts(read_table(SAID.encode()), SCHEMA, "said")
    model = TextModel(Odd(say, output), classes=("toxic", "fine"))
    card = assess_text_fit(model, texts, np.random.default_rng(0))
    (sentence,) = (each for each in card.warnings if said in each)
    assert sentence.count(". ") + sentence.count("? ") == 1  # what was seen, and what to do
    assert card.is_deterministic == ("random" not in said)


@pytest.mark.parametrize(
    ("say", "said"),
    [
        (lambda texts: 1 / 0, "fails on texts (ZeroDivisionError"),
        (lambda texts: np.zeros(len(texts)), "one line of 1 scores a text, got an array of shape (2,)"),
        (lambda texts: np.array([["a"], ["b"]]), "one line of 1 scores a text"),
    ],
)
def test_a_model_that_fails_or_gives_no_scores_is_refused_in_a_sentence(say: Any, said: str) -> None:
    with pytest.raises(FitError, match=re.escape(said)):
        score_texts(TextModel(Odd(say)), ["one", "two"])


def test_pickles_are_read_where_the_operator_allows_them_only(tmp_path: Path) -> None:
    path = tmp_path / "model.joblib"
    joblib.dump(ESTIMATORS["tfidf"].fit(TEXTS, LABELS), path)
    with pytest.raises(ModelError):
        open_text_model(path, SCHEMA)
    model = open_text_model(path, SCHEMA, classes=("toxic", "fine"), unsafe_formats=True)
    assert model.is_favourable(TEXTS).tolist() == [True] * 6 + [False] * 6
    assert any("run code" in note for note in model.notes)


# --- Keras
# ------------------------------------------------------------------------------------------------------------------

KERAS = r"""
import json, sys, zipfile
from pathlib import Path
import numpy as np
import keras
import tensorflow as tf
from keras import layers as L
from fairness_engine.errors import EvenhandError
from fairness_engine.models.model import Output
from fairness_engine.models.open_text import open_text_model
from fairness_engine.models.text_model import TextModel, score_texts
from fairness_engine.data.schema import Column, Kind, Schema

folder = Path(sys.argv[1])
keras.utils.set_random_seed(1)
words = ["a", "lovely", "horrid", "day", "you", "hate", "like"]
texts = ["a lovely day", "I hate this day!", "", "LOVELY, lovely", "horrid 北京"]

def body(tokens, n_outputs, activation):
    x = L.Embedding(20, 6)(tokens)
    x = L.Conv1D(5, 2, activation="relu", padding="same")(x)
    x = L.LSTM(4)(x)
    return L.Dense(n_outputs, activation=activation)(x)

def vectors():
    return L.TextVectorization(vocabulary=words, output_sequence_length=6)

def model(shape, n_outputs, activation):
    row = keras.Input(shape, dtype="string")
    return keras.Model(row, body(vectors()(row), n_outputs, activation))

adapted = L.TextVectorization(output_mode="tf_idf")
adapted.adapt(["a lovely day", "a horrid day", "I hate this"])
models = {
    "flat": model((), 1, "sigmoid"), "one": model((1,), 1, "sigmoid"), "two": model((1,), 2, "softmax"),
    "three": model((), 3, "softmax"), "logit": model((), 1, None),
    "adapted": keras.Sequential([keras.Input((1,), dtype="string"), adapted, L.Dense(1, activation="sigmoid")]),
}
schema = Schema((Column("said", Kind.TEXT),))
result = {}
for name, made in models.items():
    path = folder / f"{name}.keras"
    made.save(path)
    opened = open_text_model(path, schema, favourable=0)
    given = tf.constant(texts) if made.input_shape == (None,) else tf.constant(texts)[:, None]
    expected = np.asarray(made(given, training=False), dtype=float)
    expected = expected[:, 1:] if name == "two" else expected
    scores = opened.scores(texts * 2000)
    result[name] = {
        "difference": float(np.abs(scores - np.tile(expected, (2000, 1))).max()),
        "output": str(opened.predictor.output), "n_scores": opened.predictor.n_scores, "kind": opened.predictor.kind,
        "threshold": opened.threshold, "empty": list(opened.scores([]).shape),
    }
row, other = keras.Input((1,), dtype="string"), keras.Input((1,))
refused = {
    "two_inputs": keras.Model([row, other], L.Dense(1)(L.Concatenate()([body(vectors()(row), 2, None), other]))),
    "two_outputs": keras.Model(row, [body(vectors()(row), 1, None), body(vectors()(row), 1, None)]),
    "numbers": keras.Sequential([keras.Input((4, 1)), L.Conv1D(2, 2), L.Flatten(), L.Dense(1)]),
    "lambda": keras.Sequential([keras.Input((), dtype="string"), vectors(), L.Lambda(lambda x: tf.cast(x,
    "float32")), L.Dense(1)]),
}
for name, made in refused.items():
    made.save(folder / f"{name}.keras")
with zipfile.ZipFile(folder / "flat.keras") as archive:
    members = {n: archive.read(n) for n in archive.namelist()}
config = json.loads(members["config.json"])
for layer in config["config"]["layers"]:
    if layer["class_name"] == "TextVectorization":
        layer["config"]["vocabulary"] = "/etc/passwd"
with zipfile.ZipFile(folder / "file.keras", "w") as archive:
    for n, content in members.items():
        archive.writestr(n, json.dumps(config) if n == "config.json" else content)
for name in (*refused, "file"):
    try:
        open_text_model(folder / f"{name}.keras", schema)
        result[name] = "opened"
    except EvenhandError as error:
        result[name] = str(error)
print(json.dumps(result))
"""


@pytest.fixture(scope="module")
def keras_said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a process with Keras said of models of texts."""
    command = [sys.executable, "-c", KERAS, str(tmp_path_factory.mktemp("keras"))]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "output", "n_scores", "threshold"),
    [
        ("flat", "probability", 1, 0.5),
        ("one", "probability", 1, 0.5),
        ("two", "probability", 1, 0.5),
        ("three", "probability", 3, 0.5),
        ("logit", "logit", 1, 0.0),
        ("adapted", "probability", 1, 0.5),
    ],
)
def test_keras_models_of_texts_give_their_own_scores(
    keras_said: dict[str, Any], name: str, output: str, n_scores: int, threshold: float
) -> None:
    seen = keras_said[name]
    assert seen["difference"] < 1e-5
    assert (seen["output"], seen["n_scores"], seen["threshold"]) == (output, n_scores, threshold)
    assert seen["kind"].startswith("Keras model of texts (")
    assert seen["empty"] == [0, n_scores]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("two_inputs", "must take one string a row"),
        ("two_outputs", "has 2 outputs"),
        ("numbers", "must take one string a row"),
        ("lambda", "can run code on load"),
        ("file", "reads its vocabulary from a file"),
    ],
)
def test_keras_models_that_take_more_or_run_code_or_read_files_are_refused(
    keras_said: dict[str, Any], name: str, said: str
) -> None:
    assert said in keras_said[name]
